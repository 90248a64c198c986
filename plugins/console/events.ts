import { z } from "zod";
import { consolePartSchema, type ConsolePart } from "./data/changes.ts";

/** Data of the event `console`. */
export interface ConsoleChange {
  readonly part: ConsolePart;
  /** Tells this change from others; the same at every replica of the store. */
  readonly change: string;
}

declare module "propylon" {
  interface GatewayHooks {
    /** Instances, workspaces or the health of agents of the console are other than before. */
    console: (change: ConsoleChange) => void;
  }
}

/** Kinds of events of the console. */
export const events = [
  {
    kind: "console",
    description: "Something in a part of the console is other than before.",
    access: "viewer",
    data: z.strictObject({ part: consolePartSchema, change: z.string().max(40) }),
    once: "change",
  },
] as const;
