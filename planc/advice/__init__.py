"""Which split when: the ladder from one card to many, climbed by the same facts that judge a plan."""
