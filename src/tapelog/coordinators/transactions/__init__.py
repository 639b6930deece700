"""The transaction coordinator: the state of every transactional id, and who may write on its behalf."""
