import { z } from "zod";

/** Options of the ui plugin. */
export const optionsSchema = z.strictObject({});

/** {@link optionsSchema} filled in. */
export type UiOptions = z.output<typeof optionsSchema>;
