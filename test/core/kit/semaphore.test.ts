import { Semaphore } from "propylon/kit";
import { expect, it } from "vitest";

const never = new AbortController().signal;

it("a turn ends once, and goes to whoever has waited longest and still waits", async () => {
  const turns = new Semaphore(1);
  const order: string[] = [];
  const first = await turns.take(never);
  const gone = new AbortController();
  const left = turns.take(gone.signal).then(
    () => order.push("gone"),
    (reason: unknown) => order.push(String(reason)),
  );
  const second = turns.take(never).then((end) => (order.push("second"), end));
  const third = turns.take(never).then((end) => (order.push("third"), end));
  gone.abort("left");
  await left;
  first();
  first();
  await second;
  expect(order).toEqual(["left", "second"]);
  (await second)();
  (await third)();
  await expect(turns.take(AbortSignal.abort("late"))).rejects.toBe("late");
  (await turns.take(never))();
});
