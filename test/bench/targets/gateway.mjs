/** Propylon from its build, in the configuration given as JSON. Ready when every server is. */
import "./loop.mjs";
import "./memory.mjs";
import "./turns.mjs";

/** Where the build is; another for the code of before. */
const dist = process.env.BENCH_DIST ?? new URL("../../../dist/", import.meta.url).href;
const { createGateway } = await import(`${dist}core/index.js`);
// As the command line does; the code of before has none.
const { stopPretenuring } = await import(`${dist}core/cli/pretenuring.js`).catch(() => ({}));
stopPretenuring?.();

/** First-party plugins, from the build too. */
const resolvePlugin = async (name) => (await import(`${dist}plugins/${name}/index.js`)).default;

const gateway = await createGateway(JSON.parse(process.argv[2]), { resolvePlugin });
await gateway.listen();

function allReady() {
  return [...gateway.servers.values()].every(({ status }) => status.state === "ready");
}

function ready() {
  process.send({ port: [...gateway.addresses.values()][0].port });
}

if (allReady()) ready();
else {
  const tell = () => {
    if (!allReady()) return;
    for (const stop of stops) stop();
    ready();
  };
  // The second is the name that the event had in November, for the code of before.
  const stops = ["server:state", "upstream:state"].map((name) => gateway.hook(name, tell));
}
