import { readFileSync } from "node:fs";
import { minVersion, satisfies } from "semver";
import { describe, expect, it } from "vitest";

interface Entry {
  readonly version?: string;
  readonly resolved?: string;
  readonly integrity?: string;
  readonly link?: boolean;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly license?: string;
  readonly hasInstallScript?: boolean;
  readonly engines?: Readonly<Record<string, string>>;
}

const root = new URL("../../", import.meta.url);
const read = (name: string): string => readFileSync(new URL(name, root), "utf8");
const lock = JSON.parse(read("package-lock.json")) as {
  readonly packages: Readonly<Record<string, Entry>>;
};

/** Our own workspace members: the root, their folders, and the links to them. */
function isOwn(path: string, entry: Entry): boolean {
  return !path.includes("node_modules/") || entry.link === true;
}

const installed = Object.entries(lock.packages).filter(([path, entry]) => !isOwn(path, entry));
const runtime = closure("");

/** Everything that an install of the package brings, without the workspace's other members. */
function closure(path: string, seen = new Map<string, Entry>()): [string, Entry][] {
  for (const name of Object.keys(lock.packages[path]?.dependencies ?? {})) {
    const found = nearest(path, name);
    if (seen.has(found)) continue;
    seen.set(found, lock.packages[found]!);
    closure(found, seen);
  }
  return [...seen];
}

/** Node's own rule: the package's own folder first, then each one above it. */
function nearest(path: string, name: string): string {
  const inside = `${path === "" ? "" : `${path}/`}node_modules/${name}`;
  if (lock.packages[inside]) return inside;
  if (path === "") throw new Error(`The lockfile has no ${name}.`);
  return nearest(path.slice(0, Math.max(0, path.lastIndexOf("node_modules/") - 1)), name);
}

const LICENCES =
  /^\(?(?:MIT|MIT-0|ISC|Apache-2\.0|BSD-2-Clause|BSD-3-Clause|0BSD|BlueOak-1\.0\.0|Unlicense|CC0-1\.0)(?: (?:OR|AND) [\w.-]+)*\)?$/;

const named = (entries: readonly (readonly [string, Entry])[]): string[] =>
  entries.map(([path]) => path);

describe("the lockfile", () => {
  it("has the sha512 of every package", () => {
    expect(
      named(installed.filter(([, { integrity }]) => !integrity?.startsWith("sha512-"))),
    ).toEqual([]);
  });

  it("takes packages from the registry alone", () => {
    const elsewhere = installed.filter(
      ([, { resolved }]) => resolved !== undefined && !/^https:\/\/[^/]+\/.+\.tgz$/.test(resolved),
    );
    expect(named(elsewhere)).toEqual([]);
    const links = Object.entries(lock.packages).filter(([, { link }]) => link);
    expect(new Set(links.map(([, { resolved }]) => resolved))).toEqual(
      new Set(["", "playground", "templates"]),
    );
  });

  it("has no install script in what we ship", () => {
    expect(named(runtime.filter(([, { hasInstallScript }]) => hasInstallScript))).toEqual([]);
  });

  // yarn 1 and npm's engine-strict refuse such a package; npm's own warning is the first line that a user sees.
  it("24: has no package, for development neither, that refuses the oldest Node we promise", () => {
    const { engines } = JSON.parse(read("package.json")) as Required<Entry>;
    const oldest = minVersion(engines.node!)!;
    const refusing = installed.filter(
      ([, entry]) => !satisfies(oldest, entry.engines?.node ?? "*"),
    );
    expect(oldest.version).toBe("20.19.0");
    expect(
      refusing.map(([path, entry]) => `${path} ${entry.version}: ${entry.engines!.node}`),
    ).toEqual([]);
  });

  it("has permissive licences only in what we ship", () => {
    expect(
      runtime
        .filter(([, { license }]) => !LICENCES.test(license ?? ""))
        .map(([path, { license }]) => `${path}: ${license}`),
    ).toEqual([]);
  });

  it("stays within 60 packages that we ship", () => {
    expect(runtime.length).toBeGreaterThan(10);
    expect(runtime.length).toBeLessThanOrEqual(60);
  });
});

describe("package.json", () => {
  it("runs nothing when somebody installs us", () => {
    const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };
    expect(
      Object.keys(scripts).filter((name) => /^(?:pre|post)?install$|^prepare$/.test(name)),
    ).toEqual([]);
  });
});

describe("the workflows", () => {
  it.each(["ci", "audit", "release"])(
    "%s pins every action by its full commit and reads only",
    (name) => {
      const text = read(`.github/workflows/${name}.yml`);
      const actions = [...text.matchAll(/uses: (\S+)/g)].map((match) => match[1]);
      expect(actions.length).toBeGreaterThan(0);
      expect(
        actions.filter((action) => !/^[\w-]+\/[\w-]+@[0-9a-f]{40}$/.test(action ?? "")),
      ).toEqual([]);
      expect(text).toMatch(/^permissions:\n {2}contents: read$/m);
    },
  );
});
