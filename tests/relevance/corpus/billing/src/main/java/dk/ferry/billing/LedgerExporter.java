package dk.ferry.billing;

import java.io.IOException;
import java.io.Writer;
import java.math.BigDecimal;
import java.util.List;

/** Writes the day's invoices in the format that the accountant's program imports. */
public class LedgerExporter {
    /** One line of the ledger. */
    public record Entry(InvoiceNumber number, String account, BigDecimal amount) {}

    private final Writer out;

    public LedgerExporter(Writer out) {
        this.out = out;
    }

    /** Every entry as a line, then a total that must match; throws when debit and credit differ. */
    public void export(List<Entry> entries) throws IOException {
        BigDecimal balance = BigDecimal.ZERO;
        for (Entry entry : entries) {
            out.write(entry.number() + ";" + entry.account() + ";" + entry.amount().toPlainString() + "\n");
            balance = balance.add(entry.amount());
        }
        if (balance.signum() != 0) {
            throw new IllegalStateException("ledger out of balance by " + balance);
        }
        out.flush();
    }
}
