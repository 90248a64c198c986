/** Breaks servers and changes the config, one thing at a time, until `until()`. */
import { setTimeout as sleep } from "node:timers/promises";

/** What is done to a server; a kill is twice as likely. */
const DEEDS = [kill, kill, freeze, reload, remove, reconnect];

export class Monkey {
  rounds = 0;

  constructor({ gateway, servers, random, ledger }) {
    Object.assign(this, { gateway, servers, random, ledger });
  }

  async live(until) {
    while (!until()) {
      await sleep(500 + this.random.below(3_000));
      const server = this.random.pick(this.servers.filter(({ kind }) => kind !== "plugin"));
      await this.random.pick(DEEDS)(this, server);
    }
  }
}

async function kill(monkey, server) {
  const fault = monkey.ledger.fault("server killed", server.name);
  const pid = server.pid(monkey.gateway.children());
  if (pid !== undefined) process.kill(pid, "SIGKILL");
  await sleep(300);
  if (server.kind === "http") await server.start();
  fault.end();
}

async function freeze(monkey, server) {
  const pid = server.pid(monkey.gateway.children());
  if (pid === undefined) return;
  const fault = monkey.ledger.fault("server stopped for a while", server.name);
  process.kill(pid, "SIGSTOP");
  await sleep(200 + monkey.random.below(1_500));
  process.kill(pid, "SIGCONT");
  fault.end();
}

/** A change of an option that calls do not feel: no call may fail of it, so it is no fault. */
async function reload(monkey, server) {
  const replaced = monkey.ledger.replaced(server.name);
  await monkey.gateway.reload({
    [server.name]: { ...server.entry, timeout: `${100 + (++monkey.rounds % 20)}s` },
  });
  replaced.end();
}

async function remove(monkey, server) {
  const fault = monkey.ledger.fault("server removed and added", server.name);
  await monkey.gateway.reload({ [server.name]: undefined });
  await monkey.gateway.reload({});
  fault.end();
}

async function reconnect(monkey, server) {
  const fault = monkey.ledger.fault("connection made anew", server.name);
  await monkey.gateway.post(`/_meta/reinit/${server.name}`);
  fault.end();
}
