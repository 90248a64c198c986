import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const TESTS = fileURLToPath(new URL("..", import.meta.url));

/**
 * Every id that is a key somewhere and is chosen, or can be guessed, by a stranger; and the test in which one owner's is nothing to
 * another.
 */
const IDS: readonly (readonly [id: string, file: string, title: string])[] = [
  [
    "task of the sidecar",
    "plugins/sidecar/owners.long.test.ts",
    "another's id is answered as one that nobody has",
  ],
  [
    "message of the sidecar",
    "plugins/sidecar/owners.long.test.ts",
    "that a stranger took first is still free for others",
  ],
  [
    "conversation of the sidecar",
    "plugins/sidecar/owners.long.test.ts",
    "a stranger who names another's conversation",
  ],
  [
    "piece of work in a queue of the store",
    "../core/testing/store-queues.ts",
    "is of its own queue, whatever key another has",
  ],
  ["task of contract v1", "plugins/a2a/engine.test.ts", "T4: is there for its owner alone"],
  [
    "task of A2A 1.0",
    "plugins/a2a-standard/operations.test.ts",
    "T4: finds no task of another principal",
  ],
  [
    "message of A2A",
    "plugins/a2a-standard/operations.test.ts",
    "S1-4: the message of one principal is no message of another",
  ],
  [
    "context of A2A",
    "plugins/a2a/agent.test.ts",
    "T4: knows nothing of another's conversation, whatever context they name",
  ],
  [
    "task and context at a remote agent",
    "plugins/a2a-client/life.test.ts",
    "T4: goes on with tasks and conversations of its own principal only",
  ],
  [
    "payload",
    "plugins/payloads/results.test.ts",
    "are nobody else's: another principal reads nothing",
  ],
  [
    "job of openapi",
    "plugins/openapi/progress.alone.long.test.ts",
    "shows a job to nobody but the one who made it",
  ],
  [
    "agent of lifecycle",
    "plugins/lifecycle/http.test.ts",
    "everybody sees their own agents only, through every door; operators see all",
  ],
  [
    "Idempotency-Key of lifecycle",
    "plugins/lifecycle/http.test.ts",
    "an Idempotency-Key is its owner's",
  ],
  [
    "task of MCP",
    "plugins/tasks/mcp-tasks.long.test.ts",
    "looks unknown, to read, answer and cancel, over MCP and HTTP",
  ],
  [
    "session of MCP",
    "plugins/mcp/sessions.alone.test.ts",
    "T4: a session of one principal is unknown to every other",
  ],
  [
    "session in the store",
    "plugins/mcp/kept-sessions.test.ts",
    "T4: a session of another principal, or of another endpoint, is none",
  ],
  [
    "event of a stream",
    "plugins/mcp/resume.test.ts",
    "T4: nobody else can resume a stream, and an unknown one is refused",
  ],
  [
    "request and progress token of MCP",
    "plugins/mcp/relay.test.ts",
    "T5: 50 clients with equal ids and tokens each get only what is theirs",
  ],
  [
    "team of an issuer",
    "plugins/team-auth/directory.test.ts",
    "T178: the team of another owner is not there",
  ],
];

it.each(IDS)(
  "S1-4: the id of a %s is nothing to another owner, as a test sees",
  (_, file, title) => {
    expect(readFileSync(TESTS + file, "utf8")).toContain(title);
  },
);
