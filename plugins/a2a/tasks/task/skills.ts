import { GatewayError, type Json, type Principal } from "propylon";
import type { SkillOptions } from "../../options.ts";
import type { Work } from "./work.ts";

/** Tools of this plugin are those of the server of its name. */
export const OWN_SERVER = "a2a";

/** Where the work on a message is done. */
export interface SkillTarget {
  readonly server: string;
  readonly name: string;
  readonly args: Json;
  /** Milliseconds; default: what its server says. */
  readonly timeout?: number | undefined;
}

/** Something that this runtime can do. */
export interface Skill {
  readonly options: SkillOptions;
  /** Whether it is there for a principal: whether its tool is. */
  isThere(principal: Principal): boolean;
  /** Whether it is among those that a principal is told of. */
  isShown(principal: Principal): boolean;
  /** What it can do, as things are now. */
  description(): string;
  /**
   * The call that does the work: every skill is a tool of a server, so that all rules of the pipeline hold for it.
   * @throws {GatewayError} `invalid` for a message that it cannot take
   */
  target(work: Work): SkillTarget;
}

/**
 * The skill of an id as a principal sees it; without an id the first.
 *
 * @throws {GatewayError} `not_found`
 */
export function pickSkill(
  all: ReadonlyMap<string, Skill>,
  id: unknown,
  principal: Principal,
): Skill {
  const skills = [...all.values()].filter((each) => each.isThere(principal));
  const skill = id === undefined ? skills[0] : skills.find(({ options }) => options.id === id);
  if (skill) return skill;
  throw new GatewayError("not_found", "This runtime has no such skill.", {
    hint: `It has: ${skills.map(({ options }) => options.id).join(", ")}.`,
  });
}
