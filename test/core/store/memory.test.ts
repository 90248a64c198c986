import { testStore } from "../../../core/testing/index.ts";
import { MemoryDriver } from "../../../core/store/memory.ts";

testStore("memory", { open: () => Promise.resolve(new MemoryDriver()) });
