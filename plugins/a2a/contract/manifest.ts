import { z } from "zod";
import { CARD_PATH } from "./card.ts";

/** Contract versions that Propylon speaks. */
export const CONTRACT_VERSIONS = ["v1"] as const;

/** `v1` and its minor versions, which only add. */
export const contractVersionSchema = z
  .string()
  .regex(/^v1(\.\d+)?$/, "must be v1, or a minor version of it such as v1.1");

/** What a runtime declares about itself in `runtime-contract.json`. Paths and port default to those of the contract. */
export const manifestSchema = z.looseObject({
  contractVersion: contractVersionSchema,
  runtime: z.looseObject({
    name: z.string().min(1),
    version: z.string().min(1),
    description: z.string().optional(),
  }),
  server: z
    .looseObject({
      port: z.int().min(1).max(65_535).default(8080),
      healthPath: z.string().startsWith("/").default("/health"),
      agentCardPath: z.string().startsWith("/").default(CARD_PATH),
      taskPath: z.string().startsWith("/").default("/"),
    })
    .prefault({}),
  capabilities: z
    .looseObject({
      streaming: z.boolean().default(false),
      traceContext: z.boolean().default(false),
      gracefulShutdown: z.boolean().default(false),
      contextCompaction: z.boolean().default(false),
    })
    .prefault({}),
  conformanceLevel: z.int().min(1).max(3),
});

/** What a runtime declares about itself. */
export type Manifest = Readonly<z.output<typeof manifestSchema>>;

/** Name of the file, and the path at which our runtimes serve it. */
export const MANIFEST_FILE = "runtime-contract.json";
