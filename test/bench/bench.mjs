import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { Process } from "./process.mjs";
import { spread } from "./table.mjs";

const FIRST_ANSWER_MS = 60_000;

/** One run of the benchmark: its settings, its load generator, and the rows, ratios and verdicts collected so far. */
export class Bench {
  rows = [];
  ratios = {};
  /** Comparisons with the code of `--before`, as `interval` gives them. */
  verdicts = [];
  /** Why something that was asked for has no figures, by name. */
  absent = {};
  #load;

  /** @param options `rounds` counted per target; `ms` per measurement; `quick`, `long` shrink or stretch the counts */
  constructor(options) {
    this.options = options;
  }

  /** The load generator, started at first use. */
  async load(command, options) {
    this.#load ??= Process.start("load.mjs", { core: 1, port: false });
    const { result, error } = await (await this.#load).ask({ command, options });
    if (error) throw new Error(error);
    return result;
  }

  /** Ends the load generator with everything it holds open. */
  async dropLoad() {
    await (await this.#load)?.stop();
    this.#load = undefined;
  }

  target(script, config, options) {
    return Process.start(`targets/${script}.mjs`, { config, core: 0, ...options });
  }

  /** Propylon from its build; `config` in addition to a listener on a free port. */
  gateway(config, options) {
    return this.target(
      "gateway",
      { listeners: { main: { port: 0 } }, log: { level: "warn" }, ...config },
      options,
    );
  }

  /** The same of the code that `--before` names; `undefined` where it names none. */
  async gatewayBefore(config) {
    const { before } = this.options;
    if (before === undefined) return undefined;
    const env = { BENCH_DIST: pathToFileURL(join(before, "dist/")).href };
    return this.gateway(config, { env });
  }

  async release(targets) {
    await Promise.all([...new Set(targets)].map((target) => target.stop()));
  }

  upstream() {
    return Process.start("targets/upstream.mjs", { core: 1 });
  }

  /** Waits until a call is answered rightly: many listen before they have connected their servers, and refuse calls until then. */
  async firstAnswer(target, wanted) {
    const until = performance.now() + FIRST_ANSWER_MS;
    for (;;) {
      try {
        await this.load("prepare", { port: target.port, ...wanted, connections: 1 });
        await this.load("count", { calls: 1 });
        return await this.load("finish");
      } catch (error) {
        if (performance.now() > until) throw error;
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }
  }

  /** Calls `path` of a target in a closed loop, or at `rate` calls per second, and says what that cost. */
  async drive(target, { rate, ms = this.options.ms, ...wanted }) {
    await this.load("prepare", { port: target.port, path: "/mcp", ...wanted });
    const before = target.cpu();
    const { count, rps, p50, p99, p999 } = await this.load(rate ? "pace" : "run", { ms, rate });
    const cpu = (target.cpu() - before) / count;
    await this.load("finish");
    return { rps, cpu, p50, p99, ...(rate && { p999 }), rss: target.rss() };
  }

  /**
   * Measures cells in interleaved rounds, A B C then C B A, so that a slow minute of the machine hits all alike. The first
   * round warms up and is not counted.
   *
   * @param cells `{ name: () => Promise<sample> }`
   * @returns samples by cell name
   */
  async interleave(group, cells, rounds = this.options.rounds) {
    const samples = Object.fromEntries(Object.keys(cells).map((name) => [name, []]));
    for (let round = 0; round <= rounds; round++) {
      const order = Object.keys(cells);
      if (round % 2 === 1) order.reverse();
      for (const name of order) {
        const sample = await cells[name]();
        if (round > 0) samples[name].push(sample);
      }
      this.options.log(`${group}: round ${round}/${rounds}`);
    }
    for (const [name, list] of Object.entries(samples)) this.row(group, name, list);
    return samples;
  }

  /** Adds a row: median and range of every figure of its samples. */
  row(group, target, samples) {
    const figures = Object.keys(samples[0]);
    this.rows.push({
      group,
      target,
      ...Object.fromEntries(
        figures.map((name) => [name, spread(samples.map((sample) => sample[name]))]),
      ),
    });
  }

  /** Adds a ratio: the median and range of the ratios of each round. */
  ratio(name, samples, over, figure) {
    this.ratios[name] = spread(
      samples.map((sample, round) => sample[figure] / over[round][figure]),
    );
  }

  /** Adds a figure that is no ratio. */
  figure(name, values) {
    this.ratios[name] = spread(values);
  }
}
