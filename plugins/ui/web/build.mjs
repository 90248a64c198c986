// Builds the pages into dist/plugins/ui: one module that holds every file, compressed twice. npm run build runs it.
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, extname } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { build } from "vite";

const here = dirname(fileURLToPath(import.meta.url));
const target = fileURLToPath(new URL("../../../dist/plugins/ui/assets-module.js", import.meta.url));

const TYPES = {
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

/** Builds the pages, and resolves to their files by name, without compression. */
export async function buildPages() {
  const { output } = await build({
    root: here,
    configFile: false,
    logLevel: "error",
    base: "./",
    oxc: { jsx: { runtime: "automatic", development: false } },
    define: { "process.env.NODE_ENV": '"production"' },
    build: {
      write: false,
      target: "es2022",
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      cssCodeSplit: false,
    },
  });
  return new Map(
    output.map((file) => [
      file.fileName,
      Buffer.from(file.type === "chunk" ? file.code : file.source),
    ]),
  );
}

/** Writes the module that the plugin imports. */
export async function writePages() {
  const built = await buildPages();
  const page = built
    .get("index.html")
    .toString()
    .replaceAll(/"\.\/(?=assets\/)/g, '"%BASE%');
  const files = [...built].filter(([name]) => name.startsWith("assets/")).map(toEntry);
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(
    target,
    `export const page = ${JSON.stringify(page)};\nexport const files = ${JSON.stringify(Object.fromEntries(files))};\n`,
  );
}

function toEntry([name, bytes]) {
  const type = TYPES[extname(name)];
  if (type === undefined) throw new Error(`${name} is of no known type.`);
  const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } };
  const br = brotliCompressSync(bytes, quality).toString("base64");
  const gzip = gzipSync(bytes, { level: 9 }).toString("base64");
  return [name.slice("assets/".length), { type, br, gzip }];
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await writePages();
