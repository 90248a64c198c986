import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { InFlightSet, type Slotted } from "../../../core/kit/cancellation.ts";
import { Pending, type Awaited } from "../../../plugins/servers/wire/exchange.ts";

describe("Roster", () => {
  it("holds what a Set would hold, whatever comes and goes", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.boolean(), fc.nat(9))), (steps) => {
        const members = Array.from({ length: 10 }, (): Slotted => ({ slot: -1 }));
        const roster = new InFlightSet<Slotted>();
        const model = new Set<Slotted>();
        for (const [comes, index] of steps) {
          const member = members[index]!;
          const left = !comes && roster.delete(member);
          expect(left).toBe(!comes && model.delete(member));
          if (comes) {
            roster.add(member);
            model.add(member);
          }
          expect(new Set(roster)).toEqual(model);
          expect(roster.size).toBe(model.size);
        }
        roster.clear();
        expect([...roster]).toEqual([]);
        expect(members.every(({ slot }) => slot === -1)).toBe(true);
      }),
    );
  });

  it("goes through those that were there when it began, although they leave meanwhile", () => {
    const roster = new InFlightSet<Slotted>();
    const members = [{ slot: -1 }, { slot: -1 }, { slot: -1 }];
    for (const member of members) roster.add(member);
    const seen: Slotted[] = [];
    for (const member of roster) {
      roster.delete(member);
      seen.push(member);
    }
    expect(seen).toEqual(members);
    expect(roster.size).toBe(0);
  });

  it("does not take a member of another roster for its own", () => {
    const [one, other] = [new InFlightSet<Slotted>(), new InFlightSet<Slotted>()];
    const [mine, theirs] = [{ slot: -1 }, { slot: -1 }];
    one.add(mine);
    other.add(theirs);
    expect(one.delete(theirs)).toBe(false);
    expect([...one]).toEqual([mine]);
  });
});

describe("Pending", () => {
  it("finds exactly what is in flight, with ids of one bucket and of many", () => {
    const ids = fc.uniqueArray(fc.stringMatching(/^p[0-9a-z]{3,4}$/), { minLength: 1 });
    fc.assert(
      fc.property(ids, fc.array(fc.nat()), (all, order) => {
        // The same last three characters are the same bucket.
        const colliding = all.flatMap((id) => [id, `p${id}`, `q${id}`]);
        const requests = [...new Set(colliding)].map((id): Awaited => ({
          id,
          slot: -1,
          below: undefined,
        }));
        const pending = new Pending<Awaited>();
        for (const request of requests) pending.add(request);
        const left = new Set(requests);
        for (const place of order) {
          const request = requests[place % requests.length]!;
          expect(pending.delete(request)).toBe(left.delete(request));
        }
        for (const request of requests)
          expect(pending.get(request.id)).toBe(left.has(request) ? request : undefined);
        expect(new Set(pending.values())).toEqual(left);
      }),
    );
  });
});
