const AT = '2026-01-20T10:00:00.000Z'

const TASK = {
  id: 1,
  title: 'Write a file',
  description: 'It holds one line.',
  details: '',
  testStrategy: '',
  status: 'pending',
  dependencies: [],
  priority: 'medium',
  subtasks: [],
}

/** A project with one task, as task-master stores it. */
export const TASK_MASTER_FILES: Readonly<Record<string, string>> = {
  '.taskmaster/config.json': JSON.stringify({
    models: {},
    global: { projectName: 'matrix', anonymousTelemetry: false, defaultTag: 'master' },
    storage: { type: 'file' },
  }),
  '.taskmaster/state.json': JSON.stringify({
    currentTag: 'master',
    lastSwitched: AT,
    branchTagMapping: {},
  }),
  '.taskmaster/tasks/tasks.json': JSON.stringify({
    master: {
      tasks: [TASK],
      metadata: { created: AT, updated: AT, description: 'tasks' },
    },
  }),
}
