# Sourced by the agents in this folder. They commit, so they need a repository of their own: in a folder
# inside another repository, the commits would end up there.
set -e
if ! up=$(git rev-parse --show-cdup 2>/dev/null) || [ -n "$up" ]; then
  echo "$0: copy the examples to a folder of their own and run 'git init' there." >&2
  exit 1
fi

# commit MESSAGE FILE…
commit() {
  message=$1
  shift
  git add -- "$@"
  git -c user.name='forkhestra example' -c user.email='example@example.invalid' \
    commit --quiet --message "$message"
}
