import { randomBytes } from "node:crypto";
import { GatewayError, type Json } from "propylon";
import { type ClientFlags, print } from "propylon/cli";
import { ask } from "./ask.ts";

const PASSWORD_BYTES = 24;

/** With a password that nobody chose: one on the command line would be in the shell's history. */
export async function createAccount(flags: ClientFlags, name: string): Promise<void> {
  const password = randomBytes(PASSWORD_BYTES).toString("base64url");
  const body = { name, password };
  const answer = await ask(flags, { method: "POST", path: "/accounts", body });
  print({ ...answer, password }, flags.json);
}

/** @returns the exit code */
export async function verify(flags: ClientFlags, head: string | undefined): Promise<number> {
  const answer = await ask(flags, { path: "/audit/verify", query: anchorOf(head) });
  if (flags.json) print(answer, true);
  else console.log(wordsOf(answer));
  return answer["ok"] === true ? 0 : 1;
}

function wordsOf({ ok, rows, head, seq, problem }: Json): string {
  if (ok !== true) return `Row ${String(seq)} is wrong: ${String(problem)}.`;
  const { seq: last, hash } = head as Json;
  return `${String(rows)} rows are as they were written. Newest: ${String(last)}:${String(hash)}`;
}

function anchorOf(head: string | undefined): Record<string, string> {
  if (head === undefined) return {};
  const [, seq, hash] = /^(\d+):([0-9a-f]{64})$/i.exec(head) ?? [];
  if (seq !== undefined && hash !== undefined) return { seq, hash };
  throw new GatewayError("invalid", "--head is not a number, a colon and a SHA-256.", {
    hint: "Copy it from what audit verify printed before.",
  });
}
