/** One vitest that stays: it runs the files that it is sent, with the mutant that it is sent, in a process that ends with the run. */
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { BaseSequencer, createVitest } from "vitest/node";

const root = process.cwd();

/** As they are sent: the fastest first. */
class AsSent extends BaseSequencer {
  static order = [];
  sort(files) {
    const rank = ({ moduleId }) => AsSent.order.indexOf(moduleId);
    return files.toSorted((a, b) => rank(a) - rank(b));
  }
}

const TIMEOUT = 30_000;
const vitest = await createVitest(
  "test",
  {
    config: false,
    root,
    watch: false,
    include: ["test/**/*.test.ts"],
    exclude: ["**/node_modules/**"],
    globalSetup: "test/build.ts",
    setupFiles: ["test/kit/setup.ts", "test/traces.ts", "test/chromium.ts"],
    experimental: { fsModuleCache: true, fsModuleCachePath: join(root, ".modules") },
    sequence: { sequencer: AsSent },
    reporters: [{}],
    pool: "forks",
    isolate: false,
    maxWorkers: 1,
    bail: 1,
    testTimeout: TIMEOUT,
    hookTimeout: TIMEOUT,
    expect: { poll: { timeout: 15_000, interval: 20 } },
  },
  {
    resolve: { conditions: ["@propylon/source"] },
    ssr: { resolve: { conditions: ["@propylon/source"] } },
  },
);
const specifications = new Map(
  (await vitest.globTestSpecifications()).map((file) => [file.moduleId, file]),
);

/** @param job `mutant`: -1 for the sources as they are; `log`: to which file what is reached is written */
async function run({ mutant, files, log }) {
  AsSent.order = files.map((file) => join(root, file));
  forget();
  writeFileSync(join(root, ".mutant"), `${mutant} ${log ?? ""}`);
  const from = performance.now();
  const { testModules, unhandledErrors } = await vitest.runTestSpecifications(
    AsSent.order.map((file) => specifications.get(file)),
  );
  rmSync(join(root, ".mutant"), { force: true });
  const errors = [
    ...testModules.flatMap(faultsOf),
    ...unhandledErrors.map((error) => ({ test: "unhandled", message: `${error.message}` })),
  ];
  return { ms: performance.now() - from, errors };
}

/** What failed in a run before counts no more, neither as an error nor for `bail`. */
function forget() {
  const { filesMap, idMap, errorsSet } = vitest.state;
  for (const known of [filesMap, idMap, errorsSet]) known.clear();
}

function faultsOf(module) {
  const file = module.moduleId.slice(root.length + 1);
  const of = (test, errors) => errors.map(({ message }) => ({ file, test, message: `${message}` }));
  return [
    ...of("the file", module.errors()),
    ...[...module.children.allSuites()].flatMap((suite) => of(suite.fullName, suite.errors())),
    ...[...module.children.allTests("failed")].flatMap((test) =>
      of(test.fullName, test.result().errors),
    ),
  ];
}

process.on("message", (job) => {
  run(job).then(
    (result) => process.send(result),
    (error) => process.send({ ms: 0, errors: [{ test: "the run", message: `${error.stack}` }] }),
  );
});
process.send("ready");
