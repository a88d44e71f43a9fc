// What a public AG-UI client makes of whole exchanges: `node streams.mjs CLIENT`.
//
// Each line of stdin is { runInput, body }, the run input that was sent and the bytes of its answer; each line of stdout
// is what the client holds when it has read them:
//   error        why it gave the stream up, or null
//   warnings     what it warned of
//   declares     the protocol version that it sent itself, or null
//   ending       the type of the last event that it passed on, and the outcome or code
//   result, pending   what it says of RUN_FINISHED; null where it says nothing
//   interrupts, messages, state

import { createInterface } from "node:readline";

const { HttpAgent } = await import(process.argv[2]);
let warnings = [];
console.warn = console.error = (...said) => warnings.push(said.map(String).join(" "));

async function read({ runInput, body }) {
  const { threadId, messages, state = {}, protocolVersion, ...run } = runInput;
  const report = { error: null, warnings: (warnings = []), ending: [], result: null, pending: null };
  const fetch = async (_, { body: sent }) => {
    report.declares = JSON.parse(sent).protocolVersion ?? null;
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  };
  const agent = new HttpAgent({ url: "http://localhost", threadId, initialMessages: messages, initialState: state, fetch });
  try {
    await agent.runAgent(run, {
      onEvent({ event }) { report.ending = [event.type]; },
      onRunFinishedEvent({ outcome, result = null, pendingToolCallIds = null }) {
        report.ending.push(outcome);
        Object.assign(report, { result, pending: pendingToolCallIds });
      },
      onRunErrorEvent({ event }) { report.ending.push(event.code); },
    });
  } catch (thrown) {
    report.error = String(thrown.message ?? thrown);
  }
  return { ...report, interrupts: agent.pendingInterrupts, messages: agent.messages, state: agent.state };
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(JSON.stringify(await read(JSON.parse(line))) + "\n");
}
