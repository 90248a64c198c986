import { sizeSchema } from "propylon";
import { z } from "zod";

/** Schema of the options. */
export const optionsSchema = z.strictObject({
  synchronous: z
    .enum(["normal", "full"])
    .default("normal")
    .describe(
      "normal: what was confirmed survives the end of the process, however it ends; full: also that of the machine, at the cost of a disk flush per write.",
    ),
  maxSize: sizeSchema()
    .default(1024 * 1024 * 1024)
    .describe("Largest file. Beyond it writes are refused and reads go on."),
});

/** Options as the schema made them. */
export type SqliteOptions = z.output<typeof optionsSchema>;
