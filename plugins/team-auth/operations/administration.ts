import { operation, type Operation } from "propylon";
import type { z } from "zod";

/** An operation of the administration: its path is below `/_meta/team-auth`. */
export function administration<I extends z.ZodObject>(
  definition: Parameters<typeof operation<I>>[0],
): Operation<I> {
  return operation({ ...definition, path: `/_meta/team-auth${definition.path}` });
}
