package dev.polis.curator.record;

import com.google.protobuf.ByteString;
import com.google.protobuf.MessageLite;
import dev.polis.etcd.Compare;
import dev.polis.etcd.KeyValues;
import dev.polis.etcd.Op;
import dev.polis.rpc.RpcException;
import dev.polis.wire.cluster.OperatorList;
import dev.polis.wire.cluster.PluginReport;
import dev.polis.wire.cluster.RememberedChanges;
import dev.polis.wire.cluster.TrustedKeys;
import dev.polis.wire.cluster.WantedPlugins;
import dev.polis.wire.common.ClusterConfiguration;
import dev.polis.wire.common.NodeState;
import dev.polis.wire.curator.stored.InitialOwner;
import dev.polis.wire.curator.stored.Node;
import dev.polis.wire.curator.stored.RegisterTicket;
import java.nio.charset.StandardCharsets;
import java.security.SecureRandom;
import java.time.Instant;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;

/**
 * Reads and updates the records of a cluster. Reads are linearizable; it makes updates of one
 * record one after the other. Thread-safe; its creator closes it, which fails the calls in
 * progress.
 */
public final class RecordStore implements AutoCloseable {

  /** Bounds the records that the holder of a ticket can make the cluster keep. */
  static final int MOST_NEW = 64;

  private final InstantSource clock;
  private final RecordMemory memory;
  private final RecordReader reader;
  private final RecordUpdater updater;
  private final ReentrantLock registering = new ReentrantLock();

  /**
   * Creates a store that reads each time from etcd.
   *
   * @param kv the keys, fenced for a leader, unfenced during the creation of a cluster
   */
  public RecordStore(KeyValues kv) {
    this(kv, new RecordMemory(damage -> {}), () -> false);
  }

  /**
   * Creates the store of a leader, which reads from memory.
   *
   * @param kv the fenced keys
   * @param memory the memory, which a watch of the same records fills
   * @param leads returns whether this node certainly leads
   */
  public RecordStore(KeyValues kv, RecordMemory memory, BooleanSupplier leads) {
    this(kv, memory, leads, InstantSource.system());
  }

  /** Creates the same with another clock, which decides when changes are forgotten. */
  public RecordStore(
      KeyValues kv, RecordMemory memory, BooleanSupplier leads, InstantSource clock) {
    this.clock = clock;
    this.memory = memory;
    this.reader = new RecordReader(kv, memory, leads);
    this.updater = new RecordUpdater(kv, memory, reader, clock);
  }

  /** Returns all records, with each acknowledged change. */
  public RecordSnapshot read() throws InterruptedException {
    return reader.read();
  }

  /** Returns the same without a wait; empty if only etcd can answer. */
  public Optional<RecordSnapshot> readAtOnce() {
    return reader.atOnce();
  }

  /** Waits until memory has each acknowledged change. Then a follower of memory is up to date. */
  public void complete() throws InterruptedException {
    if (!reader.isCertain()) {
      reader.list();
    }
  }

  /** Returns the nodes with undamaged records, ordered by id. */
  public List<Node> nodes() throws InterruptedException {
    return read().nodes();
  }

  public Optional<Node> node(String id) throws InterruptedException {
    return read().find(RecordKeys.node(id), Node.class);
  }

  public Node requireNode(String id) throws InterruptedException {
    return node(id).orElseThrow(() -> noNode(id));
  }

  private static RpcException noNode(String id) {
    return Refusal.notFound("there is no node %s in this cluster; list them first", id);
  }

  /**
   * Updates a node's record.
   *
   * @param change makes the new record from the present one; refuses with an exception; may run
   *     repeatedly, on another thread
   * @return the record as written
   */
  public Node updateNode(String id, UnaryOperator<Node> change) throws InterruptedException {
    return updateNode(id, () -> noNode(id), change);
  }

  /** Does the same, with another refusal if the node has no record. */
  public Node updateNode(String id, Supplier<RpcException> missing, UnaryOperator<Node> change)
      throws InterruptedException {
    return update(RecordKeys.node(id), Node.class, missing, change);
  }

  /**
   * Updates a node's record, and remembers the change if the call has an id.
   *
   * @param answer makes the answer to the call from the written record; may run repeatedly
   * @return the answer; the remembered one if the change was made before
   */
  public <A extends MessageLite> A updateNode(
      String id, UnaryOperator<Node> change, Function<Node, A> answer) throws InterruptedException {
    return remembering(existing(RecordKeys.node(id), Node.class, () -> noNode(id), change), answer);
  }

  /** Updates the cluster's configuration, as {@link #updateNode} does a node's record. */
  public <A extends MessageLite> A updateConfiguration(
      UnaryOperator<ClusterConfiguration> change, Function<ClusterConfiguration, A> answer)
      throws InterruptedException {
    String key = RecordKeys.CLUSTER_CONFIGURATION;
    return remembering(
        existing(key, ClusterConfiguration.class, () -> RecordSnapshot.missing(key), change),
        answer);
  }

  private <M extends MessageLite> M update(
      String key, Class<M> type, Supplier<RpcException> missing, UnaryOperator<M> change)
      throws InterruptedException {
    return updater.update(existing(key, type, missing, change)).orElseThrow();
  }

  private static <M extends MessageLite> RecordUpdate<M, Optional<M>> existing(
      String key, Class<M> type, Supplier<RpcException> missing, UnaryOperator<M> change) {
    return RecordUpdate.of(
        key, key, type, (record, same) -> Optional.of(change.apply(record.orElseThrow(missing))));
  }

  private <M extends MessageLite, A extends MessageLite> A remembering(
      RecordUpdate<M, ?> update, Function<M, A> answer) throws InterruptedException {
    return updater.update(
        update.answering(
            written -> answer.apply(written.orElseThrow()), remember(UnaryOperator.identity())));
  }

  private <A extends MessageLite> Optional<RecordUpdate.Remembering<A>> remember(
      UnaryOperator<A> stored) {
    return ChangeId.current().map(id -> new RecordUpdate.Remembering<>(id, stored, clock.millis()));
  }

  /**
   * Returns the answer to a change that was made before; empty if it was not.
   *
   * @throws RpcException INVALID_ARGUMENT if the id belongs to another change
   */
  public <A> Optional<A> remembered(ChangeId id) throws InterruptedException {
    return remembered(id, read());
  }

  /** Returns the same from memory, which has each change that this leader has made. */
  public <A> Optional<A> rememberedHere(ChangeId id) {
    return remembered(id, memory.now());
  }

  private static <A> Optional<A> remembered(ChangeId id, RecordSnapshot records) {
    return records
        .find(id.key(), RememberedChanges.class)
        .flatMap(changes -> ChangeMemory.answer(changes, id))
        .map(id::answer);
  }

  /** Returns the trusted keys for signatures on plugins; empty before the first one. */
  public TrustedKeys trustedKeys() throws InterruptedException {
    return read()
        .find(RecordKeys.TRUSTED_KEYS, TrustedKeys.class)
        .orElseGet(TrustedKeys::getDefaultInstance);
  }

  /** Updates the trusted keys, as {@link #updateNode} does a node's record. */
  public <A extends MessageLite> A updateTrustedKeys(
      UnaryOperator<TrustedKeys> change, Function<TrustedKeys, A> answer)
      throws InterruptedException {
    return remembering(
        first(RecordKeys.TRUSTED_KEYS, TrustedKeys.class, TrustedKeys.getDefaultInstance(), change),
        answer);
  }

  /** Returns the operators; empty before the first one. */
  public OperatorList operators() throws InterruptedException {
    return read()
        .find(RecordKeys.OPERATORS, OperatorList.class)
        .orElseGet(OperatorList::getDefaultInstance);
  }

  /** Updates the operators, as {@link #updateNode} does a node's record. */
  public <A extends MessageLite> A updateOperators(
      UnaryOperator<OperatorList> change, Function<OperatorList, A> answer)
      throws InterruptedException {
    return remembering(
        first(RecordKeys.OPERATORS, OperatorList.class, OperatorList.getDefaultInstance(), change),
        answer);
  }

  /** Updates the operators as a step of a change, which a later step remembers. */
  public void updateOperators(UnaryOperator<OperatorList> change) throws InterruptedException {
    updater.update(
        first(RecordKeys.OPERATORS, OperatorList.class, OperatorList.getDefaultInstance(), change));
  }

  /**
   * Makes changes of other keys in a transaction that requires the present operators.
   *
   * @param check refuses by throwing
   * @return false if none of the changes was made, because a condition did not hold
   */
  public boolean withOperators(
      Consumer<OperatorList> check, List<Compare> conditions, List<Op> others)
      throws InterruptedException {
    return updater.updateAlone(required(check), conditions, others).isPresent();
  }

  /**
   * Does the same as the last step of a change, and remembers the change if the call has an id.
   *
   * @param answer the answer to the call
   */
  public <A extends MessageLite> boolean withOperators(
      Consumer<OperatorList> check, List<Compare> conditions, List<Op> others, A answer)
      throws InterruptedException {
    return updater
        .updateAlone(
            required(check).answering(_ -> answer, remember(UnaryOperator.identity())),
            conditions,
            others)
        .isPresent();
  }

  private static RecordUpdate<OperatorList, Optional<OperatorList>> required(
      Consumer<OperatorList> check) {
    String key = RecordKeys.OPERATORS;
    return existing(
        key,
        OperatorList.class,
        () -> RecordSnapshot.missing(key),
        present -> {
          check.accept(present);
          return present;
        });
  }

  /** Reads the wanted plugins, the nodes' reports, and all nodes. */
  public PluginRecords plugins() throws InterruptedException {
    return read().plugins();
  }

  /**
   * Updates the wanted plugins, as {@link #updateNode} does a node's record.
   *
   * @param remembered returns the part of the answer that is remembered
   */
  public <A extends MessageLite> A updateWantedPlugins(
      UnaryOperator<WantedPlugins> change,
      Function<WantedPlugins, A> answer,
      UnaryOperator<A> remembered)
      throws InterruptedException {
    return updater.update(
        first(
                RecordKeys.WANTED_PLUGINS,
                WantedPlugins.class,
                WantedPlugins.getDefaultInstance(),
                change)
            .answering(written -> answer.apply(written.orElseThrow()), remember(remembered)));
  }

  /** Updates a record, which the first update creates. */
  private static <M extends MessageLite> RecordUpdate<M, Optional<M>> first(
      String key, Class<M> type, M first, UnaryOperator<M> change) {
    return RecordUpdate.of(
        key, key, type, (record, same) -> Optional.of(change.apply(record.orElse(first))));
  }

  /** Stores a node's report about its plugins, in place of the former one. */
  public void putPluginReport(PluginReport report) throws InterruptedException {
    String id = report.getNodeId();
    updater.update(
        RecordUpdate.of(
            RecordKeys.pluginReport(id),
            RecordKeys.node(id),
            PluginReport.class,
            (former, node) -> {
              if (node instanceof RecordState.Absent) {
                throw noNode(id);
              }
              return Optional.of(report);
            }));
  }

  /** Deletes the report of a node that is no member. */
  public void deletePluginReport(String id) throws InterruptedException {
    updater.update(
        RecordUpdate.of(
            RecordKeys.pluginReport(id),
            RecordKeys.node(id),
            PluginReport.class,
            (report, node) -> node instanceof RecordState.Absent ? Optional.empty() : report));
  }

  public InitialOwner owner() throws InterruptedException {
    return read().require(RecordKeys.INITIAL_OWNER, InitialOwner.class);
  }

  /**
   * Updates the owner's record in a transaction with changes of other keys, which memory does not
   * keep.
   *
   * @param change makes the new record from the present one; refuses with an exception
   * @return false if none of the changes was made, because a condition did not hold
   */
  public boolean updateOwner(
      UnaryOperator<InitialOwner> change, List<Compare> conditions, List<Op> others)
      throws InterruptedException {
    return updater.updateAlone(ofOwner(change), conditions, others).isPresent();
  }

  /** Updates the owner's record, as {@link #updateNode} does a node's record. */
  public <A extends MessageLite> A updateOwner(
      UnaryOperator<InitialOwner> change, Function<InitialOwner, A> answer)
      throws InterruptedException {
    return remembering(ofOwner(change), answer);
  }

  private static RecordUpdate<InitialOwner, Optional<InitialOwner>> ofOwner(
      UnaryOperator<InitialOwner> change) {
    String key = RecordKeys.INITIAL_OWNER;
    return existing(key, InitialOwner.class, () -> RecordSnapshot.missing(key), change);
  }

  /** Returns the ticket with which nodes register, whether or not it has ended. */
  public Optional<RegisterTicket> registerTicket() throws InterruptedException {
    return read().find(RecordKeys.REGISTER_TICKET, RegisterTicket.class);
  }

  /**
   * Returns the ticket with which nodes register. The first call makes it, and the first call after
   * its end makes another one.
   *
   * @throws dev.polis.rpc.RpcException FAILED_PRECONDITION if the ticket has registered all of its
   *     nodes
   */
  public RegisterTicket validTicket(SecureRandom random, Instant now) throws InterruptedException {
    Optional<RegisterTicket> stored = registerTicket();
    if (stored.isPresent() && Tickets.isValid(stored.get(), now)) {
      Tickets.requirePlace(stored.get(), nodes());
      return stored.get();
    }
    RegisterTicket created = Tickets.create(random, now, 0);
    return updater
        .update(ofTicket(present -> Tickets.isValid(present, now) ? present : created))
        .orElseThrow();
  }

  private static RecordUpdate<RegisterTicket, Optional<RegisterTicket>> ofTicket(
      UnaryOperator<RegisterTicket> change) {
    return first(
        RecordKeys.REGISTER_TICKET,
        RegisterTicket.class,
        RegisterTicket.getDefaultInstance(),
        change);
  }

  /**
   * Makes another ticket in place of the present one, with which no node registers any more.
   *
   * @param most the number of nodes that it registers; 0 for no limit
   * @param answer makes the answer to the call, which is remembered, and so has no secret
   */
  public <A extends MessageLite> A replaceTicket(
      SecureRandom random, Instant now, int most, Function<RegisterTicket, A> answer)
      throws InterruptedException {
    RegisterTicket created = Tickets.create(random, now, most);
    return remembering(ofTicket(present -> created), answer);
  }

  /**
   * Deletes the ticket with which nodes register.
   *
   * @param answer makes the answer to the call from the deleted ticket
   */
  public <A extends MessageLite> A deleteTicket(Function<Optional<RegisterTicket>, A> answer)
      throws InterruptedException {
    String key = RecordKeys.REGISTER_TICKET;
    AtomicReference<Optional<RegisterTicket>> deleted = new AtomicReference<>(Optional.empty());
    return updater.update(
        RecordUpdate.of(
                key,
                key,
                RegisterTicket.class,
                (ticket, same) -> {
                  deleted.set(ticket);
                  return Optional.empty();
                })
            .answering(_ -> answer.apply(deleted.get()), remember(UnaryOperator.identity())));
  }

  /**
   * Writes the record of a new node, and the index by its join key in the same transaction.
   *
   * @param candidate NEW
   * @param ticket with which it registers; refused if it is no longer the cluster's
   * @param known returns the record of a node that has registered before, or refuses by throwing;
   *     may run repeatedly, on another thread
   * @return the node's record
   */
  public Node register(Node candidate, RegisterTicket ticket, UnaryOperator<Node> known)
      throws InterruptedException {
    // One at a time, so that no two registrations take the same join key or the last free place.
    registering.lockInterruptibly();
    try {
      requirePlace(candidate, ticket, nodes());
      String key = RecordKeys.node(candidate.getId());
      Node added = candidate.toBuilder().setRegisterTicketId(ticket.getId()).build();
      return updater
          .update(
              RecordUpdate.of(
                  key,
                  RecordKeys.REGISTER_TICKET,
                  Node.class,
                  (record, present) -> {
                    // A ticket that is replaced meanwhile fails the transaction.
                    Tickets.requireSame(present, ticket.getOpaque());
                    return Optional.of(record.map(known).orElse(added));
                  },
                  List.of(
                      Op.put(
                          RecordKeys.joinKey(candidate.getJoinKey().toByteArray()),
                          candidate.getId().getBytes(StandardCharsets.UTF_8)))))
          .orElseThrow();
    } finally {
      registering.unlock();
    }
  }

  private static void requirePlace(Node candidate, RegisterTicket ticket, List<Node> nodes) {
    if (nodes.stream().anyMatch(node -> node.getId().equals(candidate.getId()))) {
      return;
    }
    if (nodes.stream().anyMatch(node -> node.getJoinKey().equals(candidate.getJoinKey()))) {
      throw Refusal.precondition(
          "another node of this cluster has the join key of %s; start the new node from an empty"
              + " state directory",
          candidate.getId());
    }
    Tickets.requirePlace(ticket, nodes);
    long waiting =
        nodes.stream().filter(node -> node.getFsmState() == NodeState.NODE_STATE_NEW).count();
    if (waiting >= MOST_NEW) {
      throw Refusal.exhausted(
          "%d nodes wait for approval, which is the limit; list them (polisctl node list), approve"
              + " those that are yours (polisctl node approve), delete the others (polisctl node"
              + " delete), then register this one again",
          waiting);
    }
  }

  /**
   * Deletes the record of a node, and the index by its join key in the same transaction.
   *
   * @param node the record as read before
   * @param check gets the present record, and refuses by throwing; may run repeatedly, on another
   *     thread
   * @param answer the answer to the call, which is remembered if the call has an id
   */
  public <A extends MessageLite> A deleteNode(Node node, Consumer<Node> check, A answer)
      throws InterruptedException {
    String key = RecordKeys.node(node.getId());
    return updater.update(
        RecordUpdate.of(
                key,
                key,
                Node.class,
                (record, same) -> {
                  check.accept(record.orElseThrow(() -> noNode(node.getId())));
                  return Optional.empty();
                },
                List.of(Op.delete(RecordKeys.joinKey(node.getJoinKey().toByteArray()))))
            .answering(_ -> answer, remember(UnaryOperator.identity())));
  }

  /**
   * Finds the node with a join key; empty if none has it.
   *
   * @param joinKey raw Ed25519 public key
   */
  public Optional<Node> nodeOfJoinKey(ByteString joinKey) throws InterruptedException {
    return nodes().stream().filter(node -> node.getJoinKey().equals(joinKey)).findFirst();
  }

  /** Waits until no transaction is in progress; the caller prevents new ones. */
  public void awaitIdle() throws InterruptedException {
    updater.awaitIdle();
    reader.awaitIdle();
  }

  @Override
  public void close() {
    reader.close();
    updater.close();
  }
}
