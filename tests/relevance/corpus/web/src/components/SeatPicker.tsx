import { useMemo, useState } from "react";

export interface Seat {
  row: number;
  column: string;
  taken: boolean;
}

interface Props {
  seats: Seat[];
  wanted: number;
  onPick(seats: Seat[]): void;
}

/** A plan of the deck; click to choose seats, as many as there are passengers. */
export function SeatPicker({ seats, wanted, onPick }: Props) {
  const [picked, setPicked] = useState<Seat[]>([]);
  const rows = useMemo(() => groupByRow(seats), [seats]);

  function toggle(seat: Seat) {
    const next = picked.includes(seat) ? picked.filter((other) => other !== seat) : [...picked, seat].slice(-wanted);
    setPicked(next);
    if (next.length === wanted) onPick(next);
  }

  return (
    <table className="seats">
      <tbody>
        {rows.map((row) => (
          <tr key={row[0].row}>
            {row.map((seat) => (
              <td key={seat.column}>
                <button disabled={seat.taken} aria-pressed={picked.includes(seat)} onClick={() => toggle(seat)}>
                  {seat.row}
                  {seat.column}
                </button>
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function groupByRow(seats: Seat[]): Seat[][] {
  const rows = new Map<number, Seat[]>();
  for (const seat of seats) rows.set(seat.row, [...(rows.get(seat.row) ?? []), seat]);
  return [...rows.values()];
}
