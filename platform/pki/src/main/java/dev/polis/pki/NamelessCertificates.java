package dev.polis.pki;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.security.NoSuchAlgorithmException;
import java.security.Provider;
import java.security.Security;
import java.security.cert.CRL;
import java.security.cert.CRLException;
import java.security.cert.CertPath;
import java.security.cert.Certificate;
import java.security.cert.CertificateException;
import java.security.cert.CertificateFactory;
import java.security.cert.CertificateFactorySpi;
import java.util.Collection;
import java.util.Iterator;
import java.util.List;

/**
 * Lets the JDK's TLS read a peer's certificate that has neither subject nor issuer.
 *
 * <p>The TLS stack parses what the peer shows before it asks any trust manager, and asks the first
 * provider of {@code CertificateFactory.X.509} to do so. This provider is the first: it asks the
 * JDK's own factory, and reads as a {@link NamelessCertificate} what that one refuses. What is
 * neither is refused with the JDK's reason, and so is what is larger than any certificate of a
 * cluster. A certificate that is read is not yet trusted: each connection's trust manager judges it
 * as any other, and none of a cluster's issuer has an empty name.
 */
final class NamelessCertificates extends Provider {
  private static final long serialVersionUID = 1L;
  private static final String NAME = "PolisCertificates";
  private static final String TYPE = "CertificateFactory";
  private static final String X509 = "X.509";

  /**
   * Bytes of a peer's certificate. Those of a cluster have some 500; read, one takes up to thirty
   * times its bytes for as long as its connection is open.
   */
  private static final int LARGEST = 2 << 10;

  private NamelessCertificates() {
    super(
        NAME,
        "1",
        "reads X.509 certificates, also those that an Ed25519 key signed without a name");
    putService(new Factory(this));
  }

  /** Makes this the first provider of the process; does nothing if it is. */
  static void install() {
    Security.insertProviderAt(new NamelessCertificates(), 1);
  }

  /** Returns the JDK's own factory, for certificates that come from a file or a record. */
  static CertificateFactory jdk() {
    try {
      return CertificateFactory.getInstance(X509, Security.getProvider("SUN"));
    } catch (CertificateException e) {
      throw new IllegalStateException("every Java runtime reads X.509 certificates", e);
    }
  }

  private static final class Factory extends Service {
    Factory(Provider provider) {
      super(provider, TYPE, X509, Reader.class.getName(), List.of("X509"), null);
    }

    @Override
    public Object newInstance(Object parameter) throws NoSuchAlgorithmException {
      return new Reader();
    }
  }

  /** Asks the JDK's factory first. */
  private static final class Reader extends CertificateFactorySpi {
    private final CertificateFactory jdk = jdk();

    @Override
    public Certificate engineGenerateCertificate(InputStream in) throws CertificateException {
      if (!in.markSupported()) {
        return jdk.generateCertificate(in); // no TLS stack: those read from memory
      }
      in.mark(LARGEST + 1);
      try {
        byte[] shown = in.readNBytes(LARGEST);
        var unread = new ByteArrayInputStream(shown);
        Certificate read = read(unread, shown, in);
        in.reset();
        in.skipNBytes(shown.length - unread.available());
        return read;
      } catch (IOException e) {
        throw new CertificateException("a certificate cannot be read: " + e.getMessage(), e);
      }
    }

    private Certificate read(InputStream unread, byte[] shown, InputStream rest)
        throws CertificateException, IOException {
      try {
        return generate(unread);
      } catch (CertificateException refused) {
        if (rest.read() >= 0) {
          // No cause: logs name the first one, and that is the size.
          throw new CertificateException(
              "a peer's certificate has more than %d bytes; show a smaller one".formatted(LARGEST));
        }
        return nameless(shown, refused);
      }
    }

    /** Asks the JDK, whose parser fails with an index out of bounds at an empty Ed25519 key. */
    private Certificate generate(InputStream unread) throws CertificateException {
      try {
        return jdk.generateCertificate(unread);
      } catch (RuntimeException e) {
        throw new CertificateException("a peer's certificate is malformed: " + e.getMessage(), e);
      }
    }

    private static Certificate nameless(byte[] shown, CertificateException refused)
        throws CertificateException {
      try {
        return NamelessCertificate.parse(shown);
      } catch (CertificateException e) {
        refused.addSuppressed(e);
        throw refused;
      }
    }

    @Override
    public Collection<? extends Certificate> engineGenerateCertificates(InputStream in)
        throws CertificateException {
      return jdk.generateCertificates(in);
    }

    @Override
    public CertPath engineGenerateCertPath(InputStream in) throws CertificateException {
      return jdk.generateCertPath(in);
    }

    @Override
    public CertPath engineGenerateCertPath(InputStream in, String encoding)
        throws CertificateException {
      return jdk.generateCertPath(in, encoding);
    }

    @Override
    public CertPath engineGenerateCertPath(List<? extends Certificate> certificates)
        throws CertificateException {
      return jdk.generateCertPath(certificates);
    }

    @Override
    public Iterator<String> engineGetCertPathEncodings() {
      return jdk.getCertPathEncodings();
    }

    @Override
    public CRL engineGenerateCRL(InputStream in) throws CRLException {
      return jdk.generateCRL(in);
    }

    @Override
    public Collection<? extends CRL> engineGenerateCRLs(InputStream in) throws CRLException {
      return jdk.generateCRLs(in);
    }
  }
}
