import type { Failure } from "../message/failure.ts";
import { harmless, headerText, OWNER } from "../message/headers.ts";
import { writeOwner, type TaskName } from "../message/owner.ts";
import type { Delivery, Parcel } from "../message/transport.ts";

/** A task that is given up, as it is kept. */
export interface Letters {
  /** As it came. */
  readonly whole: Parcel;
  /** For a queue that takes less now than when it took the task. */
  readonly bare: Parcel;
}

/** Puts a task that is given up together with the reason. */
export function lettersOf(delivery: Delivery, { id, owner }: TaskName, failure: Failure): Letters {
  const { data, headers, subject, sequence, storedAt, attempt } = delivery;
  const facts = {
    "Dead-Reason": failure.reason,
    "Dead-Message": headerText(failure.message),
    "Dead-Deliveries": String(attempt),
    "Dead-Subject": headerText(subject),
    "Dead-Sequence": String(sequence),
    "Dead-Task": headerText(encodeURIComponent(id)),
    ...(owner !== undefined && { [OWNER]: writeOwner(owner) }),
  };
  const key = `dead-${sequence}-${storedAt}`;
  return {
    whole: { data, key, headers: { ...harmless(headers), ...facts } },
    bare: { data: new Uint8Array(), key, headers: { ...facts, "Dead-Body": "too large" } },
  };
}
