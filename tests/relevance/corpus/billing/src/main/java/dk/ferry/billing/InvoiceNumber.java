package dk.ferry.billing;

import java.time.Year;
import java.util.Objects;

/** An invoice number without gaps: year, a running number and a check digit. */
public final class InvoiceNumber implements Comparable<InvoiceNumber> {
    private final Year year;
    private final int sequence;

    private InvoiceNumber(Year year, int sequence) {
        this.year = Objects.requireNonNull(year);
        this.sequence = sequence;
    }

    public static InvoiceNumber of(Year year, int sequence) {
        if (sequence < 1) {
            throw new IllegalArgumentException("invoice numbers start at 1");
        }
        return new InvoiceNumber(year, sequence);
    }

    /** The number that follows; a new year starts at one again. */
    public InvoiceNumber next(Year now) {
        return now.equals(year) ? new InvoiceNumber(year, sequence + 1) : new InvoiceNumber(now, 1);
    }

    /** Luhn's check digit over year and running number. */
    int checkDigit() {
        String digits = year + String.format("%06d", sequence);
        int sum = 0;
        for (int i = 0; i < digits.length(); i++) {
            int digit = digits.charAt(digits.length() - 1 - i) - '0';
            int weighted = i % 2 == 0 ? digit * 2 : digit;
            sum += weighted > 9 ? weighted - 9 : weighted;
        }
        return (10 - sum % 10) % 10;
    }

    @Override
    public int compareTo(InvoiceNumber other) {
        int byYear = year.compareTo(other.year);
        return byYear != 0 ? byYear : Integer.compare(sequence, other.sequence);
    }

    @Override
    public String toString() {
        return year + "-" + String.format("%06d", sequence) + "-" + checkDigit();
    }
}
