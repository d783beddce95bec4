/**
 * Hints are written for the command line: an agent has the same options as fields of a tool.
 * `prefix` stands before the names of those of the tasks.
 */
export function inToolWords(hint: string, prefix = ''): string {
  return hint
    .replaceAll('forge-tasks release', `the tool ${prefix}claim, release`)
    .replaceAll(/forge-tasks (?=[a-z])/g, `the tool ${prefix}`)
    .replaceAll('--check-ac N', 'checkAc')
    .replaceAll('--check-ac', 'checkAc')
    .replaceAll('--remove-dep ID', 'removeDeps')
    .replaceAll('--force', 'force: true')
    .replaceAll(/See: forkhestra (queue|inbox)\b/g, 'See the tool $1.')
    .replaceAll('forkhestra run-queue, or', 'the tool run, or')
    .replaceAll(/forkhestra (cancel)\b/g, 'the tool $1')
    .replaceAll(/\/(run|push)\b/g, 'the tool $1')
    .replaceAll('End it: --kill-orphans', 'To end it: forkhestra run-queue --kill-orphans')
    .replaceAll(/--(fix|status|done)\b/g, '$1')
}
