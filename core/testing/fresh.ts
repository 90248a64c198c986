import { randomUUID } from "node:crypto";

/** A name that no other case uses. */
export const fresh = (): string => `test/${randomUUID()}`;
