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
 * <p>The TLS stack parses a peer's certificate before it calls a trust manager, and uses the first
 * provider of {@code CertificateFactory.X.509}. This provider is the first: it calls the JDK's own
 * factory, and reads a refused certificate as a {@link NamelessCertificate}. If both fail, it
 * refuses with the JDK's reason; it also refuses a certificate larger than any of a cluster. It
 * trusts no certificate: each connection's trust manager still judges it, and no issuer of a
 * cluster has an empty name.
 */
final class NamelessCertificates extends Provider {
  private static final long serialVersionUID = 1L;
  private static final String NAME = "PolisCertificates";
  private static final String TYPE = "CertificateFactory";
  private static final String X509 = "X.509";

  /**
   * The largest accepted certificate of a peer, in bytes. A cluster's certificate has some 500; a
   * parsed one takes up to thirty times its bytes while its connection is open.
   */
  private static final int LARGEST = 2 << 10;

  private NamelessCertificates() {
    super(
        NAME,
        "1",
        "reads X.509 certificates, also those that an Ed25519 key signed without a name");
    putService(new Factory(this));
  }

  /** Makes this the first provider of the process; a second call does nothing. */
  static void install() {
    Security.insertProviderAt(new NamelessCertificates(), 1);
  }

  /** Returns the JDK's own factory, for certificates from a file or a record. */
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

  /** Tries the JDK's factory first. */
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
          // Without a cause: logs name the first message, which has the size.
          throw new CertificateException(
              "a peer's certificate has more than %d bytes; show a smaller one".formatted(LARGEST));
        }
        return nameless(shown, refused);
      }
    }

    /** Calls the JDK's parser, which fails with an index out of bounds at an empty Ed25519 key. */
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
