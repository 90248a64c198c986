import { GatewayError, type PluginContext } from "propylon";
import { admits, checkInput, ROLES } from "propylon/kit";
import { z } from "zod";
import type { Ladder } from "./ladder.ts";
import { findSubject, subjectOf } from "./subject.ts";

const roleSchema = z.enum(ROLES);
const nameSchema = z.string().min(1).max(1_000);

const querySchema = z.strictObject({
  principal: nameSchema.optional(),
  server: nameSchema,
  tool: nameSchema,
  library: nameSchema.optional(),
  /** Roles, with commas between them. */
  role: z
    .string()
    .max(100)
    .transform((text) => text.split(","))
    .pipe(z.array(roleSchema).max(1_000))
    .optional(),
});

/** Registers the explanation: of oneself for every caller, of others for operators. */
export function registerRoutes(
  gateway: Pick<PluginContext, "route" | "info">,
  ladder: Ladder,
): void {
  const { accounts } = ladder.gateway.services;
  gateway.route(
    "GET",
    "/_meta/access/explain",
    { access: "caller", mutates: false, management: true },
    async ({ url, context }) => {
      const query = checkInput(Object.fromEntries(url.searchParams), querySchema);
      const { principal: asker } = context;
      const { principal: ref = asker.ref, role = [], ...asked } = query;
      const isOperator = admits(asker, "operator");
      if (ref !== asker.ref && !isOperator) throw notOthers();
      const subject =
        ref === asker.ref
          ? subjectOf(asker)
          : await findSubject(ref, role, { info: gateway.info, accounts });
      return { ok: true, ...ladder.explain(subject, { ...asked, asker, showsRules: isOperator }) };
    },
  );
}

function notOthers(): GatewayError {
  return new GatewayError("forbidden", "Only operators may ask about others.", {
    hint: "Leave principal out to ask about yourself.",
    data: { role: "operator" },
  });
}
