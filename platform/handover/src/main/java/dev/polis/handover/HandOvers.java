package dev.polis.handover;

import java.time.Duration;
import org.osgi.annotation.versioning.ProviderType;

/** Passes the state of an organ from one instance to the next. Usable from any thread. */
@ProviderType
public interface HandOvers {

  /** How long an instance may take to give its state away or to take it back. */
  Duration PATIENCE = SwapDeadline.HAND_OVER.limit();

  /**
   * Starts an instance of an organ, which may take the state of the one before it.
   *
   * <p>If the starter throws, a state that it has taken goes back to the predecessor, which
   * continues with it, before this method throws the same.
   *
   * @param organ the organ's name, {@code "curator"}
   * @param starter makes the instance; called once, on the calling thread
   * @param <I> the class of the instance
   * @param <E> what the starter may throw
   * @return the instance and its membership, which its opener ends with {@link Membership#leave()}
   * @throws HandOverException if another hand-over of this organ is still under way
   */
  <I extends OrganInstance, E extends Exception> Membership<I> join(
      String organ, Starter<I, E> starter) throws E;

  /**
   * Makes an instance of an organ.
   *
   * @param <I> the class of the instance
   * @param <E> what it may throw
   */
  @FunctionalInterface
  interface Starter<I extends OrganInstance, E extends Exception> {
    /** Returns an instance that works, or throws and leaves nothing behind. */
    I start(Predecessor predecessor) throws E;
  }

  /** The instance that is in charge while a second one starts. For the starter only. */
  @ProviderType
  interface Predecessor {

    /** Returns whether there is one. */
    boolean exists();

    /**
     * Returns what the predecessor tells without giving anything away, so that the successor can
     * prepare; {@link OrganState#NONE} if there is no predecessor.
     */
    OrganState facts();

    /**
     * Makes the predecessor give its state away; from now on the successor decides.
     *
     * @return {@link OrganState#NONE} if there is no predecessor
     * @throws HandOverException if the predecessor does not give its state and continues, or if an
     *     instance that has left is not closed in time
     */
    OrganState take();
  }

  /**
   * The place of an instance among those of its organ.
   *
   * @param <I> the class of the instance
   */
  @ProviderType
  interface Membership<I extends OrganInstance> {

    /** Returns the instance. */
    I instance();

    /**
     * Ends the membership and closes the instance, on the calling thread. If the predecessor is
     * still there, the instance gives it the state back first and the predecessor continues; then
     * the instance does not touch what it gave. An instance that comes meanwhile and finds no
     * predecessor begins when this one is closed. Returns when that is done. Does nothing the
     * second time.
     *
     * <p>The node leaves for an instance whose bundle has stopped without: its component failed
     * after it had joined.
     */
    void leave();
  }
}
