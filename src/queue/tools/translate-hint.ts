/**
 * Rewrites a hint for the command line in terms of tools. `prefix` precedes the names of task tools.
 */
export function translateHint(hint: string, prefix = ''): string {
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
    .replaceAll('Kill them: --kill-orphans', 'To kill them: forkhestra run-queue --kill-orphans')
    .replaceAll(/--(fix|status|done)\b/g, '$1')
}
