package dev.polis.consensus;

import dev.polis.etcd.EtcdHold;
import dev.polis.etcd.EtcdTls;
import dev.polis.handover.OrganState;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReference;

/**
 * Keeps the newest key and certificate of each user that another organ has. The connections of that
 * organ take them at each handshake, also after this organ was replaced: one instance gives the map
 * to the next. The same goes for the hold of their writes.
 *
 * @param held by the names of the users
 * @param hold holds all users' writes while etcd starts again
 */
record UserIdentities(Map<String, AtomicReference<EtcdTls>> held, EtcdHold hold) {

  private static final String NAME = "user-identities";
  private static final String HOLD = "user-hold";

  UserIdentities() {
    this(new ConcurrentHashMap<>(), new EtcdHold());
  }

  /** Returns the identities that another instance has given. */
  @SuppressWarnings("unchecked") // each version gives a map of these types under this name
  static UserIdentities find(OrganState taken) {
    return taken
        .find(NAME, Map.class)
        .map(
            held ->
                new UserIdentities(
                    (Map<String, AtomicReference<EtcdTls>>) held,
                    taken.require(HOLD, EtcdHold.class)))
        .orElseGet(UserIdentities::new);
  }

  /** Adds the identities to what this instance gives to the next. */
  OrganState addTo(OrganState state) {
    return state.with(NAME, held).with(HOLD, hold);
  }

  /** Returns the newest identity of a user, in a holder that stays valid. */
  AtomicReference<EtcdTls> of(ConsensusUser user, ConsensusPki pki) {
    AtomicReference<EtcdTls> newest =
        held.computeIfAbsent(user.userName(), _ -> new AtomicReference<>());
    newest.set(pki.user(user));
    return newest;
  }

  /** Replaces the identities of all users that other organs have. */
  void renew(ConsensusPki pki) {
    for (ConsensusUser user : ConsensusUser.values()) {
      AtomicReference<EtcdTls> newest = held.get(user.userName());
      if (newest != null) {
        newest.set(pki.user(user));
      }
    }
  }
}
