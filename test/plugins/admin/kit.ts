import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { setupGateway, type TestGateway } from "../../../core/testing/index.ts";
import { makeFolder } from "../../kit/folder.ts";

/** The server that does what it is told. */
export const SCRIPTED = fileURLToPath(
  new URL("../../fixtures/process/scripted-server.mjs", import.meta.url),
);

/** A gateway that runs from a file, with the management API. */
export interface ManagedGateway extends Pick<TestGateway, "gateway" | "url"> {
  readonly file: string;
  /** A request below `/_meta`, its answer parsed. */
  readonly meta: (
    method: string,
    path: string,
    body?: unknown,
  ) => Promise<{ status: number; body: Json }>;
  /** SHA-256 of the config file as it is. */
  digest(): Promise<string>;
}

// eslint-disable-next-line typescript/no-explicit-any -- bodies of all shapes
type Json = any;

/** Runs a config file; `\${SCRIPTED}` in it is the scripted server. */
export async function startManaged(text: string): Promise<ManagedGateway> {
  const folder = makeFolder();
  const file = join(folder, "gateway.yaml");
  await writeFile(file, text.replaceAll("${SCRIPTED}", SCRIPTED));
  const { gateway, url } = await setupGateway({ file, client: false });
  return {
    gateway,
    url,
    file,
    meta: async (method, path, body) => {
      const response = await fetch(`${url}/_meta${path}`, {
        method,
        ...(body !== undefined && {
          headers: { "content-type": "application/json" },
          body: typeof body === "string" ? body : JSON.stringify(body),
        }),
      });
      return { status: response.status, body: await response.json() };
    },
    digest: async () =>
      createHash("sha256")
        .update(await readFile(file))
        .digest("hex"),
  };
}

/** A config with one stdio server and everything that management needs. */
export const MANAGED = `# the gateway of the team
name: managed
listeners:
  main: { port: 0 }
management:
  mutations: true
servers:
  # does what it is told
  alpha: { command: node, args: ["\${SCRIPTED}", --name, something-else] }
plugins:
  gating: {}
  openapi: {}
  admin:
    allowedCommands:
      - [node, "\${SCRIPTED}"]
    allowedAddresses: [127.0.0.1]
`;

/** Waits until a server is ready. */
export async function whenReady({ meta }: ManagedGateway, name: string): Promise<void> {
  for (;;) {
    const { body } = await meta("GET", `/servers/${name}`);
    if (body.server?.state === "ready") return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
