import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Identity, Principal } from "../../../core/index.ts";
import { createPrincipal } from "../../../core/kit.ts";
import { readRef } from "../../../core/internal.ts";

const KINDS = ["anonymous", "key", "user", "team", "agent", "service"] as const;
const PARTS = fc.constantFrom(":", "", "x", "key", "user", "key:x", "user:x", "\n", "%3A", "é");
const IDS = fc
  .oneof(
    fc.string({ minLength: 1 }),
    fc.array(PARTS, { minLength: 1 }).map((parts) => parts.join("")),
  )
  .filter((id) => id !== "");
const IDENTITIES = fc.record({ kind: fc.constantFrom(...KINDS), id: IDS });

const make = (identity: Pick<Identity, "kind" | "id">): Principal =>
  createPrincipal({ ...identity, roles: new Set() });

describe("readRef", () => {
  it("gives back the kind and the id of every principal, whatever the id holds", () => {
    fc.assert(
      fc.property(IDENTITIES, ({ kind, id }) => {
        expect(readRef(make({ kind, id }).ref)).toEqual({ kind, id });
      }),
    );
  });

  it.each(["", "x", ":x", "x:", "root:x", "user:"])("makes no principal of %j", (text) => {
    expect(() => make(readRef(text))).toThrow(expect.objectContaining({ code: "internal" }));
  });
});

describe("createPrincipal", () => {
  it("T4: two refs are the same exactly for one kind and one id, whatever the id holds", () => {
    fc.assert(
      fc.property(IDENTITIES, IDENTITIES, (one, two) => {
        const isOne = one.kind === two.kind && one.id === two.id;
        expect(make(one).ref === make(two).ref).toBe(isOne);
      }),
      {
        examples: [
          [
            { kind: "key", id: "x" },
            { kind: "user", id: "x" },
          ],
        ],
      },
    );
  });

  it("T4: a copy with another id does not keep the ref of the one it was made from", () => {
    const one = make({ kind: "key", id: "x" });
    expect(createPrincipal(one)).toBe(one);
    expect(createPrincipal({ ...one, id: "y" }).ref).toBe("key:y");
    expect(() => Object.assign(one, { id: "y" })).toThrow(TypeError);
  });

  it.each([
    { id: "x", kind: "key:x" },
    { id: "x", kind: "robot" },
    { id: "x" },
    { id: "", kind: "key" },
    { kind: "key" },
    { id: 7, kind: "key" },
  ])("T4: %o could not be told from another and is refused", (identity) => {
    const given = { ...identity, roles: new Set() } as unknown as Identity;
    expect(() => createPrincipal(given)).toThrow(expect.objectContaining({ code: "internal" }));
  });
});
