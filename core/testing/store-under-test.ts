import { randomUUID } from "node:crypto";
import type { StoreDriver } from "../store/driver.ts";

/** A store under test, opened once for all cases. */
export interface StoreUnderTest {
  readonly driver: StoreDriver;
  open(): Promise<StoreDriver>;
}

/** A name that no other case uses. */
export const fresh = (): string => `test/${randomUUID()}`;
