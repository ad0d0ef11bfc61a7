package dev.polis.handover;

import dev.polis.logtree.Log;
import dev.polis.logtree.LogTree;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;

/**
 * Keeps who is in charge of each organ, and passes states on: for the service of that name, and for
 * tests without a framework.
 *
 * <p>An organ changes hands by one thread at a time; others wait for it. Instances are called
 * without the lock.
 */
public final class HandOverTable implements HandOvers {

  /** How long an instance that comes or leaves waits for another change of its organ. */
  private static final Duration TURN = SwapDeadline.TURN.limit();

  private final Log log;
  private final Duration patience;
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();
  // Guarded by lock. A line stays for ever: there are as many as organs, and waiters keep theirs.
  private final Map<String, Line> lines = new HashMap<>();
  private final List<HandOverListener> listeners = new CopyOnWriteArrayList<>();

  /** Lists the instances of one organ. Guarded by the lock. */
  private static final class Line {
    final List<Seat<?>> seats = new ArrayList<>();
    Seat<?> incumbent; // null while no instance is in charge
    boolean changing;
    int closing; // instances that have left and are not closed
  }

  private HandOverTable(Log log, Duration patience) {
    this.log = log;
    this.patience = patience;
  }

  /** Opens a table; nothing needs to be closed. */
  public static HandOverTable open(LogTree logs) {
    return open(logs, PATIENCE);
  }

  /** Opens a table whose instances have another time than {@link #PATIENCE}. */
  static HandOverTable open(LogTree logs, Duration patience) {
    return new HandOverTable(logs.log("handover"), patience);
  }

  /** Notifies a listener of each hand-over from now on. */
  public void add(HandOverListener listener) {
    listeners.add(listener);
  }

  /** Notifies a listener no more. */
  public void remove(HandOverListener listener) {
    listeners.remove(listener);
  }

  private void announce(Consumer<HandOverListener> event) {
    for (HandOverListener listener : listeners) {
      try {
        event.accept(listener);
      } catch (RuntimeException failed) {
        log.error("%s failed: %s", listener.getClass().getName(), failed, failed);
      }
    }
  }

  @Override
  public <I extends OrganInstance, E extends Exception> Membership<I> join(
      String organ, Starter<I, E> starter) throws E {
    beginChange(organ);
    try {
      return start(organ, starter);
    } finally {
      endChange(organ);
    }
  }

  private <I extends OrganInstance, E extends Exception> Seat<I> start(
      String organ, Starter<I, E> starter) throws E {
    Handing handing = new Handing(organ, incumbent(organ).orElse(null));
    try {
      I instance = starter.start(handing);
      Seat<I> seat = new Seat<>(organ, instance);
      enter(seat);
      handing.over = true;
      return seat;
    } catch (Throwable failure) {
      handing.over = true;
      handing.giveBack(failure);
      throw failure;
    }
  }

  // ---- who is in charge

  private void beginChange(String organ) {
    lock.lock();
    try {
      Line line = lines.computeIfAbsent(organ, _ -> new Line());
      if (!await(() -> !line.changing, TURN)) {
        throw new HandOverException(
            "another hand-over of %s has been running for %d s; try again when it has ended"
                .formatted(organ, TURN.toSeconds()));
      }
      line.changing = true;
    } finally {
      lock.unlock();
    }
  }

  private void endChange(String organ) {
    lock.lock();
    try {
      lines.get(organ).changing = false;
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /** Waits under the lock; an interrupted caller waits all the same and keeps its interrupt. */
  private boolean await(BooleanSupplier condition, Duration time) {
    long end = System.nanoTime() + time.toNanos();
    boolean interrupted = false;
    while (!condition.getAsBoolean() && System.nanoTime() < end) {
      try {
        changed.awaitNanos(end - System.nanoTime());
      } catch (InterruptedException hurried) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
    return condition.getAsBoolean();
  }

  private Optional<Seat<?>> incumbent(String organ) {
    lock.lock();
    try {
      return Optional.ofNullable(lines.get(organ).incumbent);
    } finally {
      lock.unlock();
    }
  }

  private void enter(Seat<?> seat) {
    lock.lock();
    try {
      Line line = lines.get(seat.organ);
      line.seats.add(seat);
      line.incumbent = seat;
    } finally {
      lock.unlock();
    }
  }

  private boolean isSeated(Seat<?> seat) {
    lock.lock();
    try {
      return lines.get(seat.organ).seats.contains(seat);
    } finally {
      lock.unlock();
    }
  }

  /**
   * Keeps an instance from leaving while it is asked for its state, or gets one back; false if it
   * has left.
   */
  private boolean beginAsking(Seat<?> seat) {
    lock.lock();
    try {
      boolean there = seat != null && lines.get(seat.organ).seats.contains(seat);
      if (there) {
        seat.busy = true;
      }
      return there;
    } finally {
      lock.unlock();
    }
  }

  private void endAsking(Seat<?> seat, boolean gave) {
    lock.lock();
    try {
      seat.busy = false;
      seat.gave = gave;
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /** Waits for those that have left: until it is closed, an instance still decides. */
  private void awaitClosed(String organ) {
    lock.lock();
    try {
      Line line = lines.get(organ);
      if (!await(() -> line.closing == 0, TURN)) {
        throw new HandOverException(
            "the instance of %s before this one is still closing after %d s; start this one when it is closed"
                .formatted(organ, TURN.toSeconds()));
      }
    } finally {
      lock.unlock();
    }
  }

  // ---- a successor comes

  /** Hands the state of the instance in charge to the one that is being started. */
  private final class Handing implements Predecessor {
    private final String organ;
    private final Seat<?> giver; // null if there is none
    private OrganState taken; // null until it is taken
    private boolean over;

    Handing(String organ, Seat<?> giver) {
      this.organ = organ;
      this.giver = giver;
    }

    @Override
    public boolean exists() {
      return giver != null && isSeated(giver);
    }

    @Override
    public OrganState facts() {
      requireStarting();
      return exists() ? giver.facts() : OrganState.NONE;
    }

    @Override
    public OrganState take() {
      requireStarting();
      if (taken != null) {
        return taken;
      }
      long began = System.nanoTime();
      if (!beginAsking(giver)) {
        awaitClosed(organ);
        return OrganState.NONE;
      }
      try {
        announce(listener -> listener.gives(organ));
        taken = giver.give();
      } finally {
        endAsking(giver, taken != null);
        if (taken == null) {
          announce(listener -> listener.resumes(organ));
        }
      }
      log.info(
          "%s: the new instance took over %s in %d ms",
          organ, taken, Duration.ofNanos(System.nanoTime() - began).toMillis());
      return taken;
    }

    private void requireStarting() {
      if (over) {
        throw new HandOverException(
            "%s asks for its predecessor's state after its start; ask while starting"
                .formatted(organ));
      }
    }

    /**
     * Gives the state back to the predecessor, which continues; if it has left, closes the state.
     */
    void giveBack(Throwable failure) {
      if (taken == null) {
        return;
      }
      log.warning("%s: the new instance failed and its state goes back: %s", organ, failure);
      if (beginAsking(giver)) {
        try {
          giver.prepare();
          giver.resume(taken);
        } finally {
          endAsking(giver, false);
        }
        announce(listener -> listener.resumes(organ));
      } else {
        log.error("%s: no instance is left to take the state back; it is given up", organ);
        taken.close(trouble -> log.warning("%s: %s", organ, trouble));
      }
    }
  }

  // ---- an instance goes

  private void leave(Seat<?> seat, Runnable close) {
    Withdrawal withdrawal = withdraw(seat);
    if (withdrawal instanceof Withdrawal.Repeated) {
      return;
    }
    try {
      if (withdrawal instanceof Withdrawal.Returning(Seat<?> heir)) {
        goOn(seat, heir);
      }
      close.run();
    } finally {
      endClosing(seat.organ);
    }
  }

  private void goOn(Seat<?> seat, Seat<?> heir) {
    try {
      returnState(seat, heir);
    } finally {
      endAsking(heir, false);
      endChange(seat.organ);
    }
  }

  private void endClosing(String organ) {
    lock.lock();
    try {
      lines.get(organ).closing--;
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  private static boolean returnsState(Line line, Seat<?> seat) {
    return line.incumbent == seat && line.seats.size() > 1;
  }

  /** Says how an instance left. */
  private sealed interface Withdrawal {

    /** It had left before. */
    record Repeated() implements Withdrawal {}

    /** No instance gets its state. */
    record Plain() implements Withdrawal {}

    /** Its state has to go back to this one. */
    record Returning(Seat<?> heir) implements Withdrawal {}
  }

  /**
   * Removes an instance, which is closing from now on. Waits until no other thread asks it for its
   * state or gives one back to it. If the instance has to give the state back, waits also until no
   * other change of its organ is under way.
   */
  private Withdrawal withdraw(Seat<?> seat) {
    lock.lock();
    try {
      Line line = lines.get(seat.organ);
      if (!await(() -> !line.changing || (!seat.busy && !returnsState(line, seat)), TURN)) {
        log.error("%s: an instance leaves during a hand-over; it does not wait", seat.organ);
      }
      if (!line.seats.remove(seat)) {
        return new Withdrawal.Repeated();
      }
      line.closing++;
      changed.signalAll();
      return line.incumbent == seat ? succeed(line) : new Withdrawal.Plain();
    } finally {
      lock.unlock();
    }
  }

  /** Puts another instance in charge, if there is one. */
  private static Withdrawal succeed(Line line) {
    if (line.seats.isEmpty()) {
      line.incumbent = null;
      return new Withdrawal.Plain();
    }
    line.incumbent = line.seats.getLast();
    if (!line.incumbent.gave) {
      return new Withdrawal.Plain();
    }
    line.incumbent.busy = true;
    line.changing = true;
    return new Withdrawal.Returning(line.incumbent);
  }

  private void returnState(Seat<?> from, Seat<?> to) {
    to.prepare();
    OrganState state = OrganState.NONE;
    try {
      state = from.give();
    } catch (HandOverException failed) {
      log.error("%s: it starts without state: %s", from.organ, failed.getMessage());
    }
    to.resume(state);
    announce(listener -> listener.resumes(from.organ));
    log.info("%s: the previous instance continues, with %s", from.organ, state);
  }

  /** Holds an instance and calls it, each time on a thread of its own and for a limited time. */
  private final class Seat<I extends OrganInstance> implements Membership<I> {
    private final String organ;
    private final I instance;
    // Guarded by lock.
    private boolean gave;
    private boolean busy; // asked for its state, or given one back: it does not leave meanwhile

    private InstanceCall last = InstanceCall.none(); // for the thread that changes the organ

    Seat(String organ, I instance) {
      this.organ = organ;
      this.instance = instance;
    }

    @Override
    public I instance() {
      return instance;
    }

    @Override
    public void leave(Runnable close) {
      HandOverTable.this.leave(this, close);
    }

    OrganState facts() {
      return call(InstanceCall.Request.TELL, instance::facts).within(patience);
    }

    OrganState give() {
      return call(
              InstanceCall.Request.GIVE,
              () -> {
                OrganState given = instance.give();
                try {
                  given.requireForeignTypes(organ, instance);
                } catch (HandOverException unusable) {
                  goOn(given);
                  throw unusable;
                }
                return given;
              })
          .orLate(this::tooLate)
          .within(patience);
    }

    private void tooLate(OrganState state) {
      log.warning("%s: the state was given too late; the instance keeps it and continues", organ);
      goOn(state);
    }

    private void goOn(OrganState state) {
      instance.prepare();
      instance.resume(state);
    }

    void prepare() {
      tolerate(InstanceCall.Request.PREPARE, instance::prepare);
    }

    void resume(OrganState state) {
      tolerate(InstanceCall.Request.RESUME, () -> instance.resume(state));
    }

    /** Calls an instance that must continue even if the call fails: failures are logged. */
    private void tolerate(InstanceCall.Request request, Runnable step) {
      try {
        call(
                request,
                () -> {
                  step.run();
                  return OrganState.NONE;
                })
            .within(patience);
      } catch (HandOverException failed) {
        log.error("%s: %s", organ, failed.getMessage(), failed);
      }
    }

    /** Prepares a call; an instance is called by one thread at a time. */
    private InstanceCall call(InstanceCall.Request request, InstanceCall.Step step) {
      if (last.isRunning()) {
        throw new HandOverException(
            "the instance of %s that runs is still busy: %s. If it hangs, stop it before the new one is started"
                .formatted(organ, last));
      }
      last = new InstanceCall(organ, request, step);
      return last;
    }
  }
}
