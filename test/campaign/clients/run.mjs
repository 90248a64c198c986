/**
 * npm run campaign -- clients
 *
 * Official SDKs and agent frameworks in their real loops against the gateway, and servers of the SDKs behind it. Installs
 * from the registries into a folder of its own; writes docs/reference/compatibility.md. `CLIENTS_ONLY=go,rust` tries some of them
 * and only prints.
 */
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { CELLS, CLIENTS, SERVERS } from "./catalogue.mjs";
import { KEY, startGateway } from "./gateway.mjs";
import { here, install } from "./install.mjs";
import { writeMatrix } from "./matrix.mjs";
import { startScriptedModel } from "./model.mjs";

const LIMIT_MS = 300_000;
const only = process.env.CLIENTS_ONLY?.split(",");
const chosen = (list, kind) =>
  list.filter(({ id }) => !only || only.includes(id) || only.includes(`${kind}:${id}`));

/** Runs a client's program; `gateway.restart()` whenever it asks for it. Resolves with its cells. */
async function runClient(command, env, gateway) {
  const child = spawn(command[0], command.slice(1), {
    env: { ...process.env, ...env },
    stdio: ["pipe", "pipe", process.env.CLIENTS_VERBOSE ? "inherit" : "ignore"],
  });
  const timer = setTimeout(() => child.kill("SIGKILL"), LIMIT_MS);
  const cells = {};
  for await (const line of createInterface({ input: child.stdout })) {
    let told;
    try {
      told = JSON.parse(line);
    } catch {
      continue; // Frameworks print what they like.
    }
    if (told.cell) cells[told.cell] = told;
    if (told.restart) {
      await gateway.restart();
      child.stdin.write("go on\n");
    }
  }
  clearTimeout(timer);
  return cells;
}

function report(label, cells) {
  const line = CELLS.map((cell) => `${cell}: ${cells[cell]?.result ?? "-"}`).join(", ");
  console.log(`${label}: ${line}`);
  for (const { cell, result, detail } of Object.values(cells))
    if (result === "no") console.log(`  ${cell}: ${detail}`);
}

const demo = { demo: { command: process.execPath, args: [`${here}node/server-1.mjs`, "stdio"] } };

async function tryClients(model) {
  const rows = [];
  for (const client of chosen(CLIENTS, "client")) {
    const command = install(client);
    const gateway = await startGateway({ servers: demo, model });
    const env = {
      GATEWAY_URL: gateway.url,
      GATEWAY_KEY: KEY,
      MODEL_URL: model.url,
      AGENT_CARD_URL: gateway.card,
    };
    const cells = await runClient(
      [
        ...command,
        ...(client.language === "python" || client.language === "node" ? [] : ["client"]),
      ],
      env,
      gateway,
    );
    await gateway.close();
    rows.push({ ...client, cells });
    report(client.label, cells);
  }
  return rows;
}

/** Each server behind the gateway, used by the TypeScript SDK of either era. */
async function tryServers(model) {
  const rows = [];
  for (const server of chosen(SERVERS, "server"))
    for (const transport of ["stdio", "http"])
      for (const era of ["typescript-1", "typescript-2"])
        rows.push(await tryServer(server, transport, era, model));
  return rows;
}

async function tryServer(server, transport, era, model) {
  const [command, ...args] = install(server);
  const own = server.language === "python" || server.language === "node" ? [] : ["server"];
  const listening =
    transport === "http" ? await listen([command, ...args, ...own, "http"]) : undefined;
  const entry = listening ? { url: listening.url } : { command, args: [...args, ...own, "stdio"] };
  const gateway = await startGateway({ servers: { demo: entry } });
  const client = CLIENTS.find(({ id }) => id === era);
  const env = { GATEWAY_URL: gateway.url, GATEWAY_KEY: KEY, MODEL_URL: model.url };
  const cells = await runClient(install(client), env, gateway);
  await gateway.close();
  listening?.child.kill();
  const label = `${server.label}, ${transport}, client ${client.label}`;
  report(label, cells);
  return { ...server, label, cells };
}

/** Starts a server over HTTP; it prints `{"url": ...}`. */
async function listen([command, ...args]) {
  const child = spawn(command, args, {
    stdio: ["ignore", "pipe", process.env.CLIENTS_VERBOSE ? "inherit" : "ignore"],
  });
  for await (const line of createInterface({ input: child.stdout }))
    if (line.startsWith("{")) return { child, url: JSON.parse(line).url };
  throw new Error(`${command} printed no URL.`);
}

const model = await startScriptedModel();
const clients = await tryClients(model);
const servers = await tryServers(model);
await model.close();
if (!only) writeMatrix(clients, servers);
