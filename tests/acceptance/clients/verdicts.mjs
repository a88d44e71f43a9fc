// What a public AG-UI client says of streams: `node verdicts.mjs CLIENT`.
//
// Each line of stdin is a stream, the list of its events; each line of stdout is what the client made of it:
//   error      why it gave the stream up, or null
//   taken      how many events it took, the one at which it gave up included
//   warnings   what it warned of

import { createInterface } from "node:readline";
import { tap } from "rxjs"; // the client's own

const { HttpAgent } = await import(process.argv[2]);
let warnings = [];
console.warn = (...said) => warnings.push(said.map(String).join(" "));
console.error = () => {}; // it prints the error that it throws

class Reader extends HttpAgent {
  taken = 0;

  run(input) {
    const count = () => { this.taken += 1; };
    return super.run(input).pipe(tap({ next: count, error: count }));
  }
}

async function read(events) {
  const body = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
  const fetch = async () => new Response(body, { headers: { "content-type": "text/event-stream" } });
  const agent = new Reader({ url: "http://localhost", threadId: "t", fetch });
  warnings = [];
  let error = null;
  try {
    await agent.runAgent({ runId: "r" });
  } catch (thrown) {
    error = String(thrown.message ?? thrown);
  }
  return { error, taken: agent.taken, warnings };
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(JSON.stringify(await read(JSON.parse(line))) + "\n");
}
