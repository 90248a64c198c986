import { collectWarnings } from "../../../core/gateway/management/warnings.ts";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { pino } from "pino";
import { expect, it } from "vitest";
import events from "../../../plugins/events/index.ts";
import { KINDS } from "../../../plugins/events/kinds.ts";
import history from "../../../plugins/history/index.ts";
import sqlite from "../../../plugins/sqlite/index.ts";
import { GuardedServer } from "../../fixtures/guarded-server.ts";
import { LoginProvider } from "../../fixtures/login-provider.ts";
import { makeFolder } from "../../kit/folder.ts";
import { clientOf, headersOf, setupPersonal } from "./kit.ts";

const secretKeys = ["a key for the tests that is long enough"];

it("tokens outlive the process, and stand nowhere in clear", async () => {
  const folder = makeFolder();
  const lines: string[] = [];
  const log = pino({ level: "trace" }, { write: (line: string) => void lines.push(line) });
  const provider = await LoginProvider.start();
  const server = await GuardedServer.start({ issuer: provider.url });
  const canaries = new Set<string>();
  provider.onAnswer = (answer) => {
    for (const name of ["access_token", "refresh_token", "client_secret"])
      if (typeof answer[name] === "string") canaries.add(answer[name]);
  };
  const setup = {
    provider,
    server,
    options: { secretKeys },
    config: { store: `sqlite:${join(folder, "store.db")}` },
    plugins: [sqlite, history, events],
    log,
  };
  const first = await setupPersonal(setup);
  const told = await listen(first.url);
  const ann = await clientOf(first.url, "ann");
  provider.lifetime = 3_600;
  for (let i = 0; i < 25; i++) {
    await ann.call("disconnect_account", { server: "guarded" });
    await ann.connect("ann-at-work");
    await first.becomes("ready");
    expect(await ann.call("whoami")).toBe("ann-at-work");
  }
  const shown = await Promise.all(
    [
      "/_meta",
      "/_meta/history?limit=500",
      "/_meta/oauth-client/servers",
      "/_meta/config",
      "/metrics",
    ].map(async (path) =>
      (await fetch(`${first.url}${path}`, { headers: headersOf("boss") })).text(),
    ),
  );
  await first.gateway.close({ grace: 0 });
  const heard = await told();
  expect(heard.match(/"tool":"whoami"/g)?.length).toBeGreaterThanOrEqual(25);
  const names = await readdir(folder);
  const files = await Promise.all(names.map((name) => readFile(join(folder, name), "latin1")));
  expect(canaries.size).toBeGreaterThanOrEqual(50);
  const places = { files: files.join(""), log: lines.join(""), shown: shown.join(""), heard };
  const found = Object.entries(places).flatMap(([place, text]) =>
    [...canaries].filter((secret) => text.includes(secret)).map((secret) => `${place}: ${secret}`),
  );
  expect(found).toEqual([]);
  expect(Object.values(places).filter((text) => text.length < 100)).toEqual([]);

  const second = await setupPersonal(setup);
  const later = await clientOf(second.url, "ann");
  await expect.poll(() => later.call("list_accounts")).toContain('"connected":true');
  const bob = await clientOf(second.url, "bob");
  expect(await bob.call("list_accounts")).toContain('"connected":false');
  const principal = { id: "ann", kind: "key", roles: new Set(["caller"] as const) } as const;
  const answer = await second.gateway.call({
    server: "guarded",
    name: "whoami",
    args: {},
    principal,
  });
  expect(JSON.stringify(answer.result)).toContain("ann-at-work");
  expect(collectWarnings(second.gateway).map(({ message }) => message)).toEqual([]);
});

it("says where logins end with the process", async () => {
  const { gateway } = await setupPersonal();
  const warnings = collectWarnings(gateway).map(({ message }) => message);
  expect(warnings.join(" ")).toContain("logins end with the process");
});

/** Reads the stream of events, as an operator. @returns all that came, once the stream has ended */
async function listen(url: string): Promise<() => Promise<string>> {
  const wanted = `${url}/_meta/events?kinds=${KINDS.join(",")}&level=debug`;
  const { body } = await fetch(wanted, { headers: headersOf("boss") });
  const read = async (): Promise<string> => {
    let text = "";
    try {
      for await (const chunk of body!.pipeThrough(new TextDecoderStream())) text += chunk;
    } catch {
      // The gateway that ends cuts it off.
    }
    return text;
  };
  const reading = read();
  return () => reading;
}
