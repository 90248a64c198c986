import { readFileSync } from "node:fs";
import { join } from "node:path";
import { request } from "node:http";
import sqlite from "../../../plugins/sqlite/index.ts";
import { pino } from "pino";
import { definePlugin } from "propylon";
import { Store } from "propylon/store";
import { setupGateway } from "propylon/testing";
import { describe, expect, it, onTestFinished } from "vitest";
import { anyTool, fieldServer } from "../../fixtures/field/servers.ts";
import { makeFolder } from "../../kit/folder.ts";
import { until } from "../../kit/until.ts";
import { propylon, spawnPropylon } from "../../core/cli/propylon.ts";
import { callText } from "./kit.ts";

const MARK = "\uFEFF";

describe("files of an editor that begins them with a byte order mark", () => {
  it("rest-11: the first variable of .env has its name, for the command line", async () => {
    const cwd = makeFolder({
      ".env": `${MARK}KEY_A=plain\r\nKEY_B=two\r\n`,
      "gateway.yaml": 'name: "${KEY_A}"\n',
    });
    expect(await propylon(["check"], { cwd })).toMatchObject({ code: 0, stderr: "" });
  });

  it("rest-11: so it has in a config that is marked, too, and in a running gateway", async () => {
    const folder = makeFolder({
      ".env": `${MARK}KEY_A=plain\nKEY_B=two\n`,
      "gateway.yaml": `${MARK}name: "\${KEY_A}-\${KEY_B}"\n`,
    });
    const { gateway } = await setupGateway({ file: join(folder, "gateway.yaml") });
    expect(gateway.config.name).toBe("plain-two");
  });

  it("rest-11: so it has in the file of propylon mcpo --env-path", async () => {
    const said = join(makeFolder(), "said");
    const script = `require("node:fs").writeFileSync(${JSON.stringify(said)}, process.env.KEY_A ?? "nothing")`;
    const cwd = makeFolder({ "mine.env": `${MARK}KEY_A=plain\nKEY_B=two\n` });
    const words = ["mcpo", "--port", "0", "--env-path", "mine.env", "--"];
    const child = spawnPropylon([...words, process.execPath, "-e", script], { cwd });
    onTestFinished(() => void child.kill("SIGKILL"));
    expect(await until(() => readMaybe(said), 30_000)).toBe("plain");
  });
});

function readMaybe(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8") || undefined;
  } catch {
    return undefined;
  }
}

describe("a proxy that names the gateway", () => {
  /** The status of a path, asked for by a Host of one's own, which fetch does not allow. */
  const ask = (url: string, headers: Record<string, string>): Promise<number> =>
    new Promise((resolve, reject) => {
      const asked = request(url, { headers }, (response) => {
        response.resume();
        resolve(response.statusCode!);
      });
      asked.on("error", reject).end();
    });
  const start = async (publicUrl: string) =>
    (await setupGateway({ config: { publicUrl }, client: false })).url;

  it("rest-12: with the port of publicUrl, as $http_host has it, is let in, and without it refused", async () => {
    const url = await start("https://gateway.example:24062");
    const statuses = [];
    for (const host of ["gateway.example:24062", "gateway.example", "gateway.example:1"])
      statuses.push(await ask(`${url}/readyz`, { host }));
    expect(statuses).toEqual([200, 403, 403]);
  });

  it("rest-12: without a port, where publicUrl has none, is let in as browsers write it", async () => {
    const url = await start("https://gateway.example");
    const statuses = [];
    for (const host of ["gateway.example", "gateway.example:443", "GATEWAY.example"])
      statuses.push(await ask(`${url}/readyz`, { host }));
    expect(statuses).toEqual([200, 200, 200]);
  });

  it("rest-12: the recipe of nginx passes the port on, and who asked", () => {
    const page = readFileSync(
      new URL("../../../docs/reference/deployment.md", import.meta.url),
      "utf8",
    );
    const recipe = /```nginx\n([\s\S]*?)```/.exec(page)![1]!;
    expect(recipe).toContain("proxy_set_header Host $http_host;");
    expect(recipe).toContain("X-Forwarded-For");
  });
});

/** A tool that writes until the store takes no more. */
const filler = definePlugin({
  name: "filler",
  inject: { store: Store },
  setup(gateway) {
    const log = gateway.services.store.log<string>("filler", { maxEntries: 10_000 });
    const fill = async (): Promise<string> => {
      for (let step = 0; step < 100; step++)
        await log.append(...Array.from({ length: 5 }, () => "x".repeat(20_000)));
      return "It takes everything.";
    };
    // What a tool throws that is not for clients is logged with its causes.
    const run = () =>
      fill().catch((cause: unknown) => {
        throw new Error("no room", { cause });
      });
    gateway.tool("fill", { description: "Fills the store.", run });
  },
});

describe("a store whose file is full", () => {
  it("rest-13: calls go on, and the log says that it is full and nothing of undoing", async () => {
    const lines: string[] = [];
    const folder = makeFolder();
    const log = pino({ level: "warn" }, { write: (line: string) => void lines.push(line) });
    const { client, gateway } = await setupGateway({
      log,
      plugins: [filler, [sqlite, { maxSize: "256KB" }]],
      config: {
        store: `sqlite:${join(folder, "g.db")}`,
        servers: { one: fieldServer({ tools: [anyTool("echo")] }) },
      },
    });
    await until(() => gateway.servers.get("one")?.status.state === "ready");
    await callText(client, "fill").catch(() => undefined);
    expect(await callText(client, "echo")).toContain("field echo 1");
    expect(await callText(client, "echo", { a: 1 })).toContain('{"a":1}');
    expect(lines.join("")).toMatch(/database or disk is full/);
    expect(lines.join("")).not.toMatch(/cannot rollback|no transaction is active/);
  });
});
