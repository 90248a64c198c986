import { readFileSync, writeFileSync } from "node:fs";
import { Validator, type Schema } from "@cfworker/json-schema";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  agentCardSchema,
  manifestSchema,
  sendMessageRequestSchema,
  taskSchema,
} from "../../../plugins/a2a/contract/index.ts";

const FOLDER = new URL("../../../plugins/a2a/contract/schemas/", import.meta.url);

/** The samples of the contract's own text, word for word. */
const SEED = {
  request: {
    message: {
      messageId: "msg-abc123",
      role: "user",
      parts: [{ text: "Implement feature X" }],
      taskId: "task-001",
    },
  },
  card: {
    name: "my-agent",
    description: "Does useful work",
    version: "1.0.0",
    defaultInputModes: ["text"],
    defaultOutputModes: ["text"],
    skills: [
      {
        id: "code-review",
        name: "Code Review",
        description: "Reviews pull requests",
        tags: ["code", "review"],
      },
    ],
    capabilities: { streaming: false },
  },
  manifest: {
    contractVersion: "v1",
    runtime: { name: "my-agent", version: "1.0.0", description: "My custom agent runtime" },
    server: {
      port: 8080,
      healthPath: "/health",
      agentCardPath: "/.well-known/agent-card.json",
      taskPath: "/",
    },
    capabilities: {
      streaming: false,
      traceContext: true,
      gracefulShutdown: true,
      contextCompaction: false,
    },
    conformanceLevel: 2,
  },
};
const TASK = {
  id: "task-001",
  contextId: "c-1",
  status: { state: "completed", timestamp: "2026-01-01T00:00:00Z" },
  artifacts: [{ artifactId: "a-1", parts: [{ text: "Done" }, { data: { lines: 3 } }] }],
  metadata: { "any/key": 1 },
};

/** Every document: its file, the schema it is made from, and a sample. */
const DOCUMENTS: readonly (readonly [string, z.ZodType, object])[] = [
  ["send-message-request", sendMessageRequestSchema, SEED.request],
  ["task", taskSchema, TASK],
  ["agent-card", agentCardSchema, SEED.card],
  ["runtime-contract", manifestSchema, SEED.manifest],
];

const TITLES: Readonly<Record<string, string>> = {
  "send-message-request": "SendMessageRequest",
  task: "Task",
  "agent-card": "AgentCard",
  "runtime-contract": "Manifest runtime-contract.json",
};

/**
 * The JSON Schemas (draft 2020-12) of contract v1 by file name, made from the zod schemas, for runtimes in any language. They
 * describe what a reader must accept: members that are not known are allowed, what has a default may be missing.
 */
function jsonSchemas(): Readonly<Record<string, object>> {
  return Object.fromEntries(
    DOCUMENTS.map(([name, zodSchema]) => {
      const { $schema, ...rest } = z.toJSONSchema(zodSchema, { io: "input", override: dropFormat });
      const file = `${name}.schema.json`;
      return [
        file,
        { $schema, $id: file, title: `${TITLES[name]} of runtime contract v1`, ...rest },
      ];
    }),
  );
}

/** zod's own name for "starts with" is no format of JSON Schema; the pattern beside it says the same. */
function dropFormat({ jsonSchema }: { readonly jsonSchema: { format?: string } }): void {
  if (jsonSchema.format === "starts_with") delete jsonSchema.format;
}

function validatorOf(name: string): Validator {
  return new Validator(jsonSchemas()[`${name}.schema.json`] as Schema, "2020-12");
}

it("the schema files are what the zod schemas say (UPDATE_DOCS=1 writes them)", () => {
  const written = Object.entries(jsonSchemas()).map(([file, schema]) => {
    const path = new URL(file, FOLDER);
    const content = `${JSON.stringify(schema, null, 2)}\n`;
    if (process.env["UPDATE_DOCS"] === "1") writeFileSync(path, content);
    return [file, JSON.parse(readFileSync(path, "utf8")), schema];
  });
  expect(written).toHaveLength(4);
  for (const [, inFile, made] of written) expect(inFile).toEqual(made);
});

describe.each(DOCUMENTS)("%s.schema.json", (name, schema, sample) => {
  const validator = validatorOf(name);

  it("R019, R020, R021, R030, R078, R079: takes the sample of the contract", () => {
    expect(validator.validate(sample)).toMatchObject({ valid: true });
    expect(schema.safeParse(sample).success).toBe(true);
  });

  it("takes members that it does not know", () => {
    expect(validator.validate({ ...sample, "x-later": [1] })).toMatchObject({ valid: true });
  });

  it("agrees with the zod schema about every damaged sample", () => {
    fc.assert(
      fc.property(fc.constantFrom(...placesIn(sample)), damage, (place, by) => {
        const damaged = damagedAt(sample, place, by);
        expect(validator.validate(damaged).valid).toBe(schema.safeParse(damaged).success);
      }),
      { numRuns: 400 },
    );
  });

  it("refuses what is no object", () => {
    for (const value of [null, [], "text", 7])
      expect(validator.validate(value)).toMatchObject({ valid: false });
  });
});

it("R084, R085, R088: a manifest of another major version, or without one, is refused", () => {
  const validator = validatorOf("runtime-contract");
  const versions = ["v1", "v1.1", "v1.20", "v2", "v2.0", "1", "v1.", "v10", ""];
  const taken = versions.filter(
    (contractVersion) => validator.validate({ ...SEED.manifest, contractVersion }).valid,
  );
  expect(taken).toEqual(["v1", "v1.1", "v1.20"]);
});

it("R031, R034: a card whose skills lack id, name, description or tags, or that has none, is refused", () => {
  const validator = validatorOf("agent-card");
  const [skill] = SEED.card.skills;
  const lists = [
    [],
    ...["id", "name", "description", "tags"].map((key) => [{ ...skill, [key]: undefined }]),
  ].map((skills) => JSON.parse(JSON.stringify({ ...SEED.card, skills })) as unknown);
  expect(lists.map((card) => validator.validate(card).valid)).toEqual(Array(5).fill(false));
  const lacking = Object.keys(SEED.card).map(
    (key) => JSON.parse(JSON.stringify({ ...SEED.card, [key]: undefined })) as unknown,
  );
  expect(lacking.map((card) => validator.validate(card).valid)).toEqual(Array(7).fill(false));
});

/** What stands in place of a value; `undefined` takes the member away. */
const damage = fc.oneof(
  fc.constant(undefined),
  fc.constantFrom<unknown>(null, "", "x", 0, 1, 8080, 65_536, -1, 1.5, true, [], {}, "/", "v1"),
);

type Place = readonly (string | number)[];

function placesIn(value: unknown, at: Place = []): readonly Place[] {
  if (typeof value !== "object" || value === null) return [at];
  const members = Object.entries(value).flatMap(([key, member]) => placesIn(member, [...at, key]));
  return at.length === 0 ? members : [at, ...members];
}

function damagedAt(sample: object, place: Place, by: unknown): unknown {
  const copy = structuredClone(sample) as Record<string | number, unknown>;
  let parent = copy;
  for (const key of place.slice(0, -1)) parent = parent[key] as Record<string | number, unknown>;
  const last = place.at(-1)!;
  if (by !== undefined) parent[last] = by;
  else if (Array.isArray(parent)) parent.splice(Number(last), 1);
  else delete parent[last];
  return copy;
}
