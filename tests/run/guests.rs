//! Guests that misbehave, through a whole run.
