import childProcess from "node:child_process";
import { syncBuiltinESMExports } from "node:module";
import net from "node:net";

/** Unit tests run beside each other on every core: what opens a port or starts a program is a test of `parts`. */
function refuse(what: string): () => never {
  return () => {
    throw new Error(`A unit test ${what}: its file must not end in .unit.test.ts.`);
  };
}

net.Server.prototype.listen = refuse("opens a port");
net.Socket.prototype.connect = refuse("connects");
for (const name of [
  "spawn",
  "spawnSync",
  "exec",
  "execSync",
  "execFile",
  "execFileSync",
  "fork",
] as const)
  childProcess[name] = refuse("starts a program") as never;
syncBuiltinESMExports();
