/** The gateway under chaos: its config, reloads, and what its process holds. */
import { createHash } from "node:crypto";
import { readFileSync, readdirSync, readlinkSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { startGateway } from "../gateway.mjs";

const PRINCIPALS = 8;
const keyOf = (index) => `chaos-key-of-principal-number-${index}`;
const hash = (key) => `sha256:${createHash("sha256").update(key).digest("hex")}`;

/** Keys of the principals. */
export const KEYS = Array.from({ length: PRINCIPALS }, (_, index) => keyOf(index));
const ADMIN = keyOf("admin");

export async function startChaosGateway(servers) {
  const entries = Object.fromEntries(
    servers.filter(({ kind }) => kind !== "plugin").map(({ name, entry }) => [name, entry]),
  );
  const keys = Object.fromEntries(
    KEYS.map((key, index) => [`p${index}`, { role: "caller", hash: hash(key) }]),
  );
  const config = (changes) => ({
    auth: { keys: { ...keys, admin: { role: "admin", hash: hash(ADMIN) } } },
    management: { mutations: true },
    endpoints: { mcp: { path: "/mcp", naming: "server" } },
    // A call that a server's freeze or a question holds up is not to be ended by a clock.
    servers: JSON.parse(JSON.stringify({ ...entries, ...changes })),
    plugins: {
      [fileURLToPath(new URL("plugin.mjs", import.meta.url))]: {},
      admin: {},
      gating: {},
      metrics: {},
      history: {},
    },
  });
  const gateway = await startGateway(config({}), { key: ADMIN });
  const post = async (path) => {
    const answer = await fetch(`${gateway.origin}${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${ADMIN}` },
    });
    return { status: answer.status, text: await answer.text() };
  };
  return {
    ...gateway,
    post,
    async reload(changes) {
      gateway.write(config(changes));
      return post("/_meta/reload");
    },
    children: () => childrenOf(gateway.pid),
    descriptors: () => descriptorsOf(gateway.pid),
    async measure() {
      process.kill(gateway.pid, "SIGUSR2");
      const answer = await fetch(`${gateway.origin}/metrics`, {
        headers: { authorization: `Bearer ${ADMIN}` },
      });
      const heap = Number(
        /^nodejs_heap_size_used_bytes(?:\{.*\})? (\S+)/m.exec(await answer.text())?.[1],
      );
      return {
        descriptors: readdirSync(`/proc/${gateway.pid}/fd`).length,
        children: childrenOf(gateway.pid).length,
        heap: heap / 2 ** 20,
      };
    },
  };
}

/** What the descriptors of a process are, counted; sockets with their state and the port at either end. */
function descriptorsOf(pid) {
  const sockets = new Map();
  for (const table of ["tcp", "tcp6"])
    for (const line of readFileSync(`/proc/${pid}/net/${table}`, "utf8").split("\n").slice(1)) {
      const [, local, remote, state, , , , , , inode] = line.trim().split(/\s+/);
      if (inode)
        sockets.set(`socket:[${inode}]`, `tcp ${portOf(local)}-${portOf(remote)} ${state}`);
    }
  const counts = {};
  for (const each of readdirSync(`/proc/${pid}/fd`)) {
    let target = "gone";
    try {
      target = readlinkSync(`/proc/${pid}/fd/${each}`);
    } catch {
      // Closed meanwhile.
    }
    const kind = sockets.get(target) ?? target.replace(/\[\d+\]/, "");
    counts[kind] = (counts[kind] ?? 0) + 1;
  }
  return counts;
}

const portOf = (address) => Number.parseInt(address.split(":")[1], 16);

function childrenOf(parent) {
  const read = (pid, file) => {
    try {
      return readFileSync(`/proc/${pid}/${file}`, "utf8");
    } catch {
      return ""; // It ended meanwhile.
    }
  };
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => read(pid, "stat").split(") ")[1]?.split(" ")[1] === String(parent))
    .map((pid) => ({ pid: Number(pid), command: read(pid, "cmdline") }))
    .filter(({ command }) => command.includes("fixtures") || command.includes("hostile"));
}
