// npm run size: what the pages weigh, gzipped, against their budget. Fails when they are over it.
import { gzipSync } from "node:zlib";
import { buildPages } from "./build.mjs";

/** Bounds in KB of 1,000 bytes. */
const BUDGET = {
  "first view": 120,
  "overview with its charts": 150,
  "without forms and charts": 150,
  everything: 245,
};

const built = await buildPages();
const page = built.get("index.html").toString();
const sizes = [...built]
  .filter(([name]) => /\.(?:js|css)$/.test(name))
  .map(([name, bytes]) => ({ name, kb: gzipSync(bytes, { level: 9 }).length / 1_000 }));
const sum = (isIn) => sizes.filter(({ name }) => isIn(name)).reduce((all, { kb }) => all + kb, 0);
const found = {
  "first view": sum((name) => page.includes(name)),
  "overview with its charts": sum((name) => page.includes(name) || name.includes("/plot-")),
  "without forms and charts": sum((name) => !/\/(?:try|plot)-/.test(name)),
  everything: sum(() => true),
};
for (const { name, kb } of sizes) console.log(`${kb.toFixed(1).padStart(7)} KB  ${name}`);
for (const [what, kb] of Object.entries(found)) {
  const isOver = kb > BUDGET[what];
  console.log(
    `${kb.toFixed(1).padStart(7)} KB  ${what}, of ${BUDGET[what]}${isOver ? ": too much" : ""}`,
  );
  if (isOver) process.exitCode = 1;
}
