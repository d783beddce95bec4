import type { Command } from '../command.ts'

export const fakeModelCommand: Command = {
  summary: 'Serve a scripted model, to test a chain without spending tokens.',
  usage: [
    'forkhestra fake-model <script> -- <command> [args…]',
    'forkhestra fake-model <script> [--port <n>]',
    'forkhestra fake-model <script> --check',
  ],
  examples: [
    [
      'forkhestra fake-model night.jsonc -- forkhestra --chain build',
      'run a chain against the script',
    ],
    ['forkhestra fake-model night.jsonc --check', 'check the script'],
    ['forkhestra fake-model night.jsonc >env &', 'serve until SIGTERM; use it with: . ./env'],
  ],
  options: {
    port: { value: '<n>', help: 'port on 127.0.0.1 (default: a free port)' },
    log: { value: '<file>', help: 'log every request to this file, one JSON object per line' },
    continue: { help: 'continue where the script ended last time, as forkhestra resume does' },
    check: { help: 'check the script and exit' },
  },
  async run(input) {
    const { runFakeModel } = await import('../run-fake-model.ts')
    return runFakeModel(input)
  },
}
