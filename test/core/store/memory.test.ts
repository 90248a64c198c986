import { testStore } from "../../../core/testing/index.ts";
import { MemoryDriver } from "../../../core/store/memory.ts";

testStore("memory", {
  open: () => Promise.resolve(new MemoryDriver()),
  steps: Number(process.env["STORE_STEPS"] ?? 2_000),
});
