import { ROLES } from "propylon/kit";
import { z } from "zod";

/** One or several. */
const listSchema = (item: z.ZodString) =>
  z.union([item.transform((only) => [only]), z.array(item).min(1).max(1_000)]);

const patternSchema = z
  .string()
  .max(500)
  .regex(/^\*$|^[^.]+\../, "must be server.name, e.g. search.*, or * for everything");

const idSchema = z.string().min(1).max(500);

const KINDS = ["anonymous", "key", "user", "team", "agent", "service"] as const;

const whoSchema = z
  .strictObject({
    kind: z
      .union([z.enum(KINDS).transform((only) => [only]), z.array(z.enum(KINDS)).min(1)])
      .optional()
      .describe("Everybody of these kinds."),
    key: listSchema(idSchema).optional().describe("Keys of these names; * stands for any text."),
    user: listSchema(idSchema).optional().describe("Users of these ids; * stands for any text."),
    team: listSchema(idSchema).optional().describe("Teams of these ids; * stands for any text."),
    agent: listSchema(idSchema)
      .optional()
      .describe("Agents of these names; * stands for any text."),
    service: listSchema(idSchema)
      .optional()
      .describe(
        "Services of these names; * stands for any text. Calls that plugins make on their own come from the service gateway.",
      ),
    role: z
      .enum(ROLES)
      .optional()
      .describe(
        "Only those with this role: an allow holds for the roles above it too, a deny for the roles below it.",
      ),
  })
  .refine((who) => Object.values(who).some((part) => part !== undefined), {
    message: "names nobody; leave for out to mean everybody",
  });

const ruleSchema = z
  .strictObject({
    allow: listSchema(patternSchema)
      .optional()
      .describe("What may be called, as server.name; * stands for any text."),
    deny: listSchema(patternSchema)
      .optional()
      .describe("What may not be called, as server.name; * stands for any text."),
    for: whoSchema
      .optional()
      .describe(
        "Whom the rule is about: anyone named by a kind or an id, with the role if there is one. Default: everybody.",
      ),
  })
  .refine(({ allow, deny }) => (allow === undefined) !== (deny === undefined), {
    message: "must have either allow or deny",
  });

/** Options of the access plugin. */
export const optionsSchema = z.strictObject({
  rules: z
    .array(ruleSchema)
    .max(1_000)
    .default([])
    .describe(
      "Who may call what. The first rule that fits decides; what no rule fits is refused, once there is any rule. They stand in the section access at the top of the config.",
    ),
});

/** The options as the plugin sees them. */
export type AccessOptions = z.output<typeof optionsSchema>;
/** The rules as people write them. */
export type RulesInput = z.input<typeof optionsSchema>["rules"];
/** One rule as written. */
export type RuleOptions = AccessOptions["rules"][number];
/** Whom a rule is about, as written. */
export type WhoOptions = NonNullable<RuleOptions["for"]>;
