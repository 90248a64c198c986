// A gateway that edits its own config without pause until it is killed. Started by edit-kill.long.test.ts.
const [library, file] = process.argv.slice(2);
const { createFileGateway, createLogger } = await import(library);
const log = await createLogger({ level: "silent", format: "json" });
const gateway = await createFileGateway(file, { log });
process.send({ from: gateway.config.name });
for (let count = 1; ; count++) {
  const name = `n${count}`;
  await (
    await gateway.manage()
  ).edit([
    { path: ["name"], value: name },
    { path: ["timeouts", "grace"], value: count },
  ]);
  process.send({ committed: name });
}
