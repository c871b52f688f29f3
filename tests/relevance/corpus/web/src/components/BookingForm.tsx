import { FormEvent, useState } from "react";
import { ApiError } from "../api/client";
import { createBooking } from "../api/v2/bookings";
import { formatMoney } from "../format";
import { useCountdown } from "../hooks/useCountdown";
import type { Passenger } from "../state/store";

/** Names, ages and a card; the price is held for ten minutes. */
export function BookingForm({ sailing, price }: { sailing: string; price: string }) {
  const [passengers, setPassengers] = useState<Passenger[]>([{ name: "", age: 30 }]);
  const [problem, setProblem] = useState<string>();
  const secondsLeft = useCountdown(600);

  async function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const card = new FormData(event.currentTarget).get("card") as string;
    try {
      await createBooking(sailing, passengers, card);
    } catch (error) {
      setProblem(error instanceof ApiError && error.code === "E_OVERBOOKED" ? "The ferry is full." : String(error));
    }
  }

  return (
    <form onSubmit={submit}>
      <p>
        {formatMoney(price)}, held for {secondsLeft} seconds
      </p>
      {passengers.map((passenger, index) => (
        <input key={index} value={passenger.name} onChange={(e) => setPassengers(rename(passengers, index, e.target.value))} />
      ))}
      <input name="card" autoComplete="cc-number" required />
      {problem && <p role="alert">{problem}</p>}
      <button disabled={secondsLeft === 0}>Book</button>
    </form>
  );
}

function rename(passengers: Passenger[], index: number, name: string): Passenger[] {
  return passengers.map((passenger, i) => (i === index ? { ...passenger, name } : passenger));
}
