import type { Principal, Role } from "propylon";
import { admits, type Listed, type Files, matchesWildcard } from "propylon/kit";
import type { RuleOptions, WhoOptions } from "./options.ts";
import type { Decision } from "./service.ts";

/** What a rule is asked about; rules make no difference between tools, resources and prompts. */
export type Item = Pick<Listed, "server" | "name">;

/** One rule, and what it decides. */
export class Rule implements Decision {
  readonly allowed: boolean;
  readonly rule: number;
  readonly reason: string;
  readonly #refs: readonly string[] | undefined;
  readonly #role: Role | undefined;
  readonly #covers: (item: Item) => boolean;
  readonly #files: Pick<Files, "placeOf">;

  constructor(options: RuleOptions, rule: number, files: Pick<Files, "placeOf">) {
    const { allow, deny } = options;
    const patterns = allow ?? deny ?? [];
    this.allowed = allow !== undefined;
    this.rule = rule;
    this.#refs = options.for && refsOf(options.for);
    this.#role = options.for?.role;
    this.#covers = coverOf(patterns);
    this.#files = files;
    this.reason = `access[${rule}] ${this.allowed ? "allows" : "denies"} ${patterns.join(", ")} ${wordsOf(options.for)}.`;
  }

  /** Where it stands now: a reload may move it. */
  get place(): string {
    return this.#files.placeOf(["plugins", "access", "rules", this.rule]);
  }

  /** Whether the rule is about somebody. */
  isFor(principal: Principal): boolean {
    const isNamed = this.#refs?.some((pattern) => matchesWildcard(pattern, principal.ref)) ?? true;
    return isNamed && (this.#role === undefined || this.#suits(this.#role, principal));
  }

  covers(item: Item): boolean {
    return this.#covers(item);
  }

  /** More rights are never less access: who is allowed something keeps it with a higher role, and is not denied it for having one. */
  #suits(role: Role, { roles: held }: Principal): boolean {
    // Somebody without any role is a caller.
    const roles: ReadonlySet<Role> = held.size === 0 ? CALLER : held;
    if (this.allowed) return admits({ roles }, role);
    if (role === "service") return roles.has("service") && !roles.has("admin");
    const above = ABOVE[role];
    return above === undefined || !admits({ roles }, above);
  }
}

const CALLER: ReadonlySet<Role> = new Set(["caller"]);

const ABOVE: Readonly<Partial<Record<Role, Role>>> = {
  viewer: "caller",
  caller: "operator",
  operator: "admin",
};

/** Whom a rule names, as patterns of a `ref`; `undefined` for everybody. A kind holds no colon, so no id is taken for another kind's. */
function refsOf({
  role: _role,
  kind: kinds = [],
  ...ids
}: WhoOptions): readonly string[] | undefined {
  const named = Object.entries(ids).flatMap(([kind, patterns = []]) =>
    patterns.map((pattern) => `${kind}:${pattern}`),
  );
  const refs = [...kinds.map((kind) => `${kind}:*`), ...named];
  return refs.length === 0 ? undefined : refs;
}

/**
 * Whether any of the patterns fits. A pattern is parted at one of its dots, and each part has to fit its own half: names hold dots
 * too, so on the joined text `a.*` would let in the server `a.b`.
 */
function coverOf(patterns: readonly string[]): (item: Item) => boolean {
  if (patterns.includes("*")) return () => true;
  const halves = patterns.flatMap((pattern) =>
    [...pattern.matchAll(/\./g)].map(({ index }) => ({
      server: pattern.slice(0, index),
      name: pattern.slice(index + 1),
    })),
  );
  return (item) =>
    halves.some(
      ({ server, name }) =>
        matchesWildcard(server, item.server) && matchesWildcard(name, item.name),
    );
}

function wordsOf(who: WhoOptions | undefined): string {
  if (!who) return "for everybody";
  const { role, ...named } = who;
  const names = Object.entries(named).flatMap(([kind, ids]) =>
    ids === undefined ? [] : [`${kind} ${ids.join(", ")}`],
  );
  return [
    ...(names.length > 0 ? [`for ${names.join(" or ")}`] : []),
    ...(role === undefined ? [] : [`for role ${role}`]),
  ].join(" ");
}
